//! Random sequences of operations compared with a model.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_ignored(
        garbage in prop::collection::vec(any::<u8>(), 0..9000),
        with_header: bool,
        with_magic: bool,
    ) {
        let kit = Kit::new();
        let header = if with_header { KEY.header() } else { Vec::new() };
        let magic: &[u8] = if with_magic { b"RREC" } else { b"" };
        kit.plant(&[&header, magic, &garbage].concat());
        let index = kit.open();
        prop_assert_eq!(index.get(0, 10), None);
        prop_assert!(complained(&index) || with_header);
        index.put(0, 10, &garbage);
        prop_assert_eq!(index.get(0, 10), Some(garbage.clone()));
        drop(index);
        prop_assert_eq!(kit.open().get(0, 10), Some(garbage));
    }

    /// Mounts with file damage between them: a get returns a payload that was put for the range, and the last one if
    /// there was no damage.
    #[test]
    fn a_get_returns_what_was_put(steps in prop::collection::vec(step(), 1..60)) {
        let kit = Kit::new();
        let mut put: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 6];
        let mut index = kit.open();
        let mut accident = false;
        for step in steps {
            match step {
                Step::Put(range, payload) => {
                    index.put(range as u64, 6, &payload);
                    put[range].push(payload);
                }
                Step::Mount => index = { drop(index); kit.open() },
                Step::Damage(how) => if let Ok(mut bytes) = fs::read(kit.path()) {
                    how.apply(&mut bytes);
                    kit.plant(&bytes);
                    accident = true;
                    index = { drop(index); kit.open() };
                },
            }
            for (range, put) in put.iter().enumerate() {
                match index.get(range as u64, 6) {
                    Some(got) => prop_assert!(put.contains(&got)),
                    None => prop_assert!(put.is_empty() || accident),
                }
                if !accident {
                    prop_assert_eq!(index.get(range as u64, 6), put.last().cloned());
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Put(usize, Vec<u8>),
    Mount,
    Damage(Damage),
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    /// Bytes of one place are copied to another.
    Repeat(prop::sample::Index, prop::sample::Index, usize),
    Append(Vec<u8>),
}

impl Damage {
    fn apply(self, bytes: &mut Vec<u8>) {
        match self {
            _ if bytes.is_empty() => {}
            Damage::Flip(at, bits) => *at.get_mut(bytes) ^= bits,
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Repeat(from, to, len) => {
                let (from, to) = (from.index(bytes.len()), to.index(bytes.len()));
                let len = len.min(bytes.len() - from.max(to));
                bytes.copy_within(from..from + len, to);
            }
            Damage::Append(more) => bytes.extend(more),
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let bytes = |most: usize| prop::collection::vec(any::<u8>(), 0..most);
    let damage = prop_oneof![
        (any::<prop::sample::Index>(), 1u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        any::<prop::sample::Index>().prop_map(Damage::Cut),
        (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1usize..500)
            .prop_map(|(from, to, len)| Damage::Repeat(from, to, len)),
        bytes(200).prop_map(Damage::Append),
    ];
    prop_oneof![
        6 => (0usize..6, bytes(300)).prop_map(|(range, payload)| Step::Put(range, payload)),
        2 => Just(Step::Mount),
        1 => damage.prop_map(Step::Damage),
    ]
}
