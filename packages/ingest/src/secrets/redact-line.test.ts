import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { locateUnescaped, redactLine, unescapeJson } from './redact-line.ts';

describe('unescaped json', () => {
  describe('unescapeJson', () => {
    it.each([
      ['{"a":"b"}', '{"a":"b"}'],
      [String.raw`a\nb\tc`, 'a\nb\nc'],
      [String.raw`a\\nb`, 'a\nb'],
      [String.raw`https:\/\/x \"y\" \\\"z`, 'https://x "y" "z'],
      [String.raw`\u0041\u00e9\\u0042`, 'AéB'],
      [String.raw`\uZZ \ `, 'uZZ  '],
      [String.raw`a\u005cnb`, 'anb'],
      ['\\', ''],
      ['', ''],
    ])('reads %j', (json, text) => {
      expect(unescapeJson(json)).toBe(text);
    });

    it('knows where each character was', () => {
      const json = String.raw`ab\ncd\u0041\"e`;
      const text = unescapeJson(json);
      const { toStart, toEnd } = locateUnescaped(json);
      const places = [...text].map((_, index) => json.slice(toStart(index), toEnd(index + 1)));
      expect(places).toEqual(['a', 'b', String.raw`\n`, 'c', 'd', String.raw`\u0041`, '"', 'e']);
    });

    it('finds a word wherever it is, and whatever surrounds it', () => {
      const around = fc.string({ unit: fc.constantFrom('\\', '"', 'n', 'u', '0', ' ', '\n', 'é') });
      fc.assert(
        fc.property(around, around, (before, after) => {
          const json = `${before}:SECRET:${after}`;
          const text = unescapeJson(json);
          const { toStart, toEnd } = locateUnescaped(json);
          const start = text.indexOf('SECRET');
          expect(json.slice(toStart(start), toEnd(start + 6))).toBe('SECRET');
        }),
      );
    });
  });
});

describe('redact line', () => {
  /** Redacts the given parts of the line, identified by their text; returns the line without padding. */
  function redact(line: string, ...parts: readonly string[]): string {
    const bytes = Buffer.from(line);
    const secrets = parts.map((part) => {
      const start = bytes.indexOf(part);
      return { rule: 'npm', start, end: start + Buffer.byteLength(part) };
    });
    const redacted = redactLine(bytes, secrets);
    expect(redacted).toHaveLength(bytes.length);
    return redacted.toString().trimEnd();
  }

  describe('redactLine', () => {
    it.each([
      ['0123456789012', '[REDACTED]'],
      ['01234567890123', '[REDACTED:npm]'],
      ['0123456789', '[REDACTED]'],
      ['012345678', '*********'],
    ])('writes as much as fits in place of %s', (secret, marker) => {
      expect(redact(`{"a":"x ${secret} y"}`, secret)).toBe(`{"a":"x ${marker} y"}`);
    });

    it('pads only at the end of the line, so that other text stays together', () => {
      const line = '{"a":"0123456789012345","b":"y","c":"abcdefghijklmnopqrst"}';
      expect(redact(line, '0123456789012345', 'abcdefghijklmnopqrst')).toBe(
        '{"a":"[REDACTED:npm]","b":"y","c":"[REDACTED:npm]"}',
      );
    });

    it('ends at the end of the string where a secret begins', () => {
      const line = '{"a":"BEGIN 0123456789","b":"9876543210 END"}';
      expect(redact(line, 'BEGIN 0123456789","b":"9876543210 END')).toBe('{"a":"[REDACTED:npm]","b":"9876543210 END"}');
    });

    it('treats an escaped quote as part of the string, and one after an escaped backslash as its end', () => {
      expect(redact(String.raw`{"a":"012345\"6789012","b":"c"}`, String.raw`012345\"6789012","b`)).toBe(
        '{"a":"[REDACTED:npm]","b":"c"}',
      );
      expect(redact(String.raw`{"a":"0123456789012\\","b":"c"}`, String.raw`0123456789012\\","b`)).toBe(
        '{"a":"[REDACTED:npm]","b":"c"}',
      );
      expect(redact(String.raw`{"a":"012345\\\"6789012","b":"c"}`, String.raw`012345\\\"6789012","b`)).toBe(
        '{"a":"[REDACTED:npm]","b":"c"}',
      );
    });

    it('leaves a line alone if the string ends before the secret begins', () => {
      expect(redact('{"a":"b"}', '"}')).toBe('{"a":"b"}');
    });

    it('splits no multi-byte character', () => {
      const line = Buffer.from('{"a":"é密01234567890é密"}');
      const start = line.indexOf('密') + 1;
      const end = line.lastIndexOf('密') - 1;
      const redacted = redactLine(line, [{ rule: 'npm', start, end }]);
      expect(redacted.toString().trimEnd()).toBe('{"a":"é[REDACTED:npm]密"}');
    });

    it('redacts bytes that are not characters', () => {
      const line = Buffer.alloc(20, 0x80);
      expect(redactLine(line, [{ rule: 'npm', start: 3, end: 9 }]).toString()).toBe('[REDACTED:npm]      ');
    });

    it('redacts overlapping secrets once', () => {
      const line = Buffer.from('密密密密密密密密 x');
      const secrets = [
        { rule: 'npm', start: 0, end: 23 },
        { rule: 'aws', start: 23, end: 24 },
      ];
      expect(redactLine(line, secrets).toString().trimEnd()).toBe('[REDACTED:npm] x');
    });
  });
});
