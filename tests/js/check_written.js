// Reads a RAB file as the format's JavaScript reader does, and compares it with what it was written from.
//
//     node check_written.js FILE.rab EXPECTED.json
//
// That is: js-yaml loads the header, pako inflates what is compressed. EXPECTED.json is that of
// tests/python/check_written.py, whose words for values `same` understands; where JavaScript has fewer types (one for
// numbers, text for keys), the values must be equal as JavaScript has them. Prints the number of datasets; fails
// at the first difference.
'use strict'
const fs = require('fs')
const pako = require('pako')
const yaml = require('js-yaml')
const yaml5 = require('js-yaml-5')

const TYPES = {
  bool: ['Uint8', 1], int8: ['Int8', 1], uint8: ['Uint8', 1], int16: ['Int16', 2], uint16: ['Uint16', 2],
  int32: ['Int32', 4], uint32: ['Uint32', 4], int64: ['BigInt64', 8], uint64: ['BigUint64', 8],
  float16: [null, 2], float32: ['Float32', 4], float64: ['Float64', 8], complex64: [null, 4], complex128: [null, 8],
}

const fail = (message) => { throw new Error(message) }
const hex = (bytes) => Buffer.from(bytes).toString('hex')

// The code units of a text as its UTF-8 bytes; lone surrogates as three bytes each, as Python's surrogatepass.
function utf8(text) {
  let out = ''
  for (const c of text) {
    const point = c.codePointAt(0)
    const lone = point >= 0xd800 && point < 0xe000
    out += lone ? hex([0xe0 | point >> 12, 0x80 | point >> 6 & 63, 0x80 | point & 63]) : hex(Buffer.from(c))
  }
  return out
}

const double = (digits) => Buffer.from(digits, 'hex').readDoubleBE()
const number = (want) => want.int !== undefined ? Number(want.int) : want.float === 'nan' ? NaN : double(want.float)
const isNumber = (want) => want.int !== undefined || want.float !== undefined

// A key as JavaScript spells it, as `utf8` gives it.
function key(want) {
  if (want === null || typeof want === 'boolean') return utf8(String(want))
  if (want.str !== undefined) return want.str
  if (isNumber(want)) return utf8(String(number(want)))
  return fail(`a key that JavaScript has no words for: ${JSON.stringify(want)}`)
}

function sameMap(got, pairs) {
  const want = new Map(pairs.map(([k, v]) => [key(k), v]))
  const keys = Object.keys(got)
  return keys.length === want.size && keys.every((k) => want.has(utf8(k)) && same(got[k], want.get(utf8(k))))
}

// The innermost value that is not as it should be, for the message.
let difference
function same(got, want) {
  const equal = isSame(got, want)
  if (!equal) difference ??= `${typeof got === 'string' ? JSON.stringify(got) : String(got)}, expected ${JSON.stringify(want)}`
  return equal
}

function isSame(got, want) {
  if (want === null || typeof want === 'boolean') return got === want
  if (Array.isArray(want)) return Array.isArray(got) && got.length === want.length && want.every((w, i) => same(got[i], w))
  if (want.str !== undefined) return typeof got === 'string' && utf8(got) === want.str
  if (isNumber(want)) return ['number', 'bigint'].includes(typeof got) && Object.is(Number(got), number(want))
  // js-yaml 4 reads no bytes as three zeros, however they are written.
  if (want.bytes !== undefined) return got instanceof Uint8Array && [want.bytes, want.bytes || '000000'].includes(hex(got))
  if (want.date !== undefined) return got instanceof Date && got.getTime() === date(want.date)
  if (got === null || typeof got !== 'object') return false
  // js-yaml 4 reads a set as an object.
  const members = got instanceof Set ? [...got] : Object.keys(got)
  if (want.set !== undefined) return sameMap(Object.fromEntries(members.map((k) => [k, null])), want.set.map((k) => [k, null]))
  return sameMap(got, want.map)
}

// YAML's times without a zone are UTC; JavaScript's have milliseconds.
function date(text) {
  const [day, time] = text.split(' ')
  if (time === undefined) return Date.parse(`${day}T00:00:00Z`)
  const cut = time.replace(/(\.\d{3})\d*/, '$1')
  return Date.parse(`${day}T${cut}${/[+-]\d\d:\d\d$/.test(cut) ? '' : 'Z'}`)
}

// An array's elements in C order, little-endian.
function logical(data, c) {
  const [, half] = TYPES[c.type] || fail(`an array of ${c.type}`)
  const size = c.type.startsWith('complex') ? 2 * half : half
  const bytes = Buffer.from(data)
  if (c.endianness === 'big') for (let at = 0; at < bytes.length; at += half) bytes.subarray(at, at + half).reverse()
  if (c.byteOrder !== 'F') return bytes
  const out = Buffer.alloc(bytes.length)
  for (let to = 0; to < bytes.length / size; to++) {
    let [rest, from, stride] = [to, 0, bytes.length / size]
    for (let axis = c.shape.length - 1; axis >= 0; axis--) {
      stride /= c.shape[axis]
      from += rest % c.shape[axis] * stride
      rest = Math.floor(rest / c.shape[axis])
    }
    bytes.copy(out, to * size, from * size, (from + 1) * size)
  }
  return out
}

function cells(data, at, column, rows) {
  const texts = column.encodingType === 'text'
  const [name, size] = texts ? [null, column.maxByteSize] : TYPES[column.encodingType]
  const view = new DataView(data.buffer, data.byteOffset + at, rows * size)
  const cell = (row) => texts
    ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data.subarray(at + row * size, at + (row + 1) * size)).replace(/\0+$/, '')
    : view[`get${name}`](row * size, column.endianess !== 'big')
  const typed = (value) => column.originalType === 'bool' ? Boolean(value) : value
  return [Array.from({ length: rows }, (_, row) => typed(cell(row))), rows * size]
}

function sameTable(data, c, want) {
  let at = 0
  const equal = c.columnInfo.every((column, n) => {
    const [values, length] = cells(data, at, column, c.rows)
    at += length
    const [name, kind, original, expected] = want[n]
    return column.key === name && column.encodingType === kind && column.originalType === original && same(values, expected)
  })
  return equal && at === data.length && c.columnInfo.length === want.length
}

const text = (data) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data)

function sameValue(data, c, want) {
  if (c.type === 'bytes') return hex(data) === want
  if (c.type === 'text') return hex(Buffer.from(text(data))) === want
  if (c.type === 'object') return loaders.every((load) => same(load(text(data)), want))
  if (c.type === 'dataframe') return sameTable(data, c, want)
  return JSON.stringify(c.shape) === JSON.stringify(want.shape) && hex(logical(data, c)) === want.bytes
}

// The one that the reader has, and its successor with YAML 1.1's types. Neither runs anything. New versions of both
// refuse what is nested more than 100 deep, unless they are told.
const deep = { maxDepth: 1000 }
const loaders = [(t) => yaml.load(t, deep), (t) => yaml5.load(t, { schema: yaml5.YAML11_SCHEMA, ...deep })]

function check(file, wanted) {
  const whole = new Uint8Array(fs.readFileSync(file))
  const size = new DataView(whole.buffer).getUint32(3, true)
  if (text(whole.subarray(0, 3)) !== 'rab') fail('no rab')
  const header = text(whole.subarray(7, 7 + size))
  for (const load of loaders) {
    const entries = load(header)
    if (entries.length !== wanted.length) fail(`${entries.length} datasets, expected ${wanted.length}`)
    entries.forEach((e, n) => {
      const [c, want] = [e.codecMeta, wanted[n]]
      const part = (what, equal) => equal || fail(`dataset ${n}: ${what} has ${difference}`.slice(0, 3000))
      const start = 7 + size + c.byteOffset
      const stored = whole.subarray(start, start + c.byteLength)
      part('name', same(e.name, want.name))
      if ('type' in want) part('type', c.type === want.type)
      if ('compression' in want) part('compression', (c.compression === undefined ? 'no key' : c.compression) === want.compression)
      if ('metadata' in want) part('metadata', same(e.metadata, want.metadata))
      if ('value' in want && load === loaders[0]) {
        part('value', sameValue(c.compression === 'gzip' ? pako.inflate(stored) : stored, c, want.value))
      }
    })
  }
  console.log(wanted.length)
}

check(process.argv[2], JSON.parse(fs.readFileSync(process.argv[3], 'utf8')))
