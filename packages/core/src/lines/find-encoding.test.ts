import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findUnreadEncoding } from './find-encoding.ts';

const LINES = '{"type":"user","text":"Grüße 東京 😀"}\n{"type":"assistant"}\n';
const swapped = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();
const wide = (text: string, isBigEndian = false): Buffer => {
  const points = [...text].map((character) => character.codePointAt(0) ?? 0);
  const buffer = Buffer.alloc(points.length * 4);
  for (const [index, point] of points.entries()) {
    if (isBigEndian) buffer.writeUInt32BE(point, index * 4);
    else buffer.writeUInt32LE(point, index * 4);
  }
  return buffer;
};

describe('findUnreadEncoding', () => {
  it.each([
    ['UTF-16LE with a mark', Buffer.from(`\uFEFF${LINES}`, 'utf16le'), 'utf-16'],
    ['UTF-16BE with a mark', swapped(`\uFEFF${LINES}`), 'utf-16'],
    ['UTF-16LE', Buffer.from(LINES, 'utf16le'), 'utf-16'],
    ['UTF-16BE', swapped(LINES), 'utf-16'],
    ['UTF-32LE with a mark', wide(`\uFEFF${LINES}`), 'utf-32'],
    ['UTF-32BE with a mark', wide(`\uFEFF${LINES}`, true), 'utf-32'],
    ['UTF-32LE', wide(LINES), 'utf-32'],
    ['UTF-32BE', wide(LINES, true), 'utf-32'],
    ['an odd number of bytes of UTF-16', Buffer.from(LINES, 'utf16le').subarray(0, 31), 'utf-16'],
    ['zeros, as after a power cut', Buffer.alloc(4096), 'binary'],
    ['noise', createHash('sha512').update('noise').digest(), 'binary'],
    ['a database', Buffer.from('SQLite format 3\0\x10'), 'binary'],
  ])('recognises %s', (_, bytes, encoding) => {
    expect(findUnreadEncoding(bytes)).toBe(encoding);
  });

  it.each([
    ['lines', Buffer.from(LINES)],
    ['lines with a mark', Buffer.from(`\uFEFF${LINES}`)],
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from('{')],
    ['a line with zeros in it', Buffer.from(`{"text":"${'a\0\0\0'.repeat(400)}"}\n`)],
    ['text', Buffer.from('Grüße 東京 😀, \x1b'.slice(0, -1))],
    ['Latin-1', Buffer.from('{"text":"Grüße"}', 'latin1')],
  ])('leaves %s', (_, bytes) => {
    expect(findUnreadEncoding(bytes)).toBeUndefined();
  });
});
