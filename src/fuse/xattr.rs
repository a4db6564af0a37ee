//! Extended attributes for the kernel: it asks for the length first, then for the bytes.

use fuser::{Errno, ReplyXattr};

use super::shared::Shared;

impl Shared {
    /// The value of one.
    pub fn xattr(&self, inode: u64, name: &str, size: u32, reply: ReplyXattr) {
        let found = self.guard(inode, |fs| fs.xattrs(inode));
        let value = found.and_then(|all| {
            let value = all.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value);
            value.ok_or(Errno::from_i32(libc::ENODATA))
        });
        answer(value.map(String::into_bytes), size, reply);
    }

    /// The names of all, each with a NUL behind it.
    pub fn xattr_names(&self, inode: u64, size: u32, reply: ReplyXattr) {
        let found = self.guard(inode, |fs| fs.xattrs(inode));
        let names =
            found.map(|all| all.iter().flat_map(|(name, _)| [name.as_bytes(), b"\0"].concat()).collect());
        answer(names, size, reply);
    }
}

fn answer(bytes: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match bytes {
        Err(errno) => reply.error(errno),
        Ok(bytes) if size == 0 => reply.size(bytes.len() as u32),
        Ok(bytes) if bytes.len() > size as usize => reply.error(Errno::from_i32(libc::ERANGE)),
        Ok(bytes) => reply.data(&bytes),
    }
}
