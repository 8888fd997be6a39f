import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toPieces } from '../testing/chunked-inputs.ts';
import { LineCutter } from './line-cutter.ts';

const MAX_TEXT_BYTES = 200;

function cut(line: string | Uint8Array, { size = 7, closesTorn = false, maxBytes = 2000 } = {}) {
  const cutter = new LineCutter({ maxBytes, maxTextBytes: MAX_TEXT_BYTES });
  for (const piece of toPieces(Buffer.from(line), size)) cutter.push(Buffer.from(piece));
  const { bytes, ...counts } = cutter.finish(closesTorn);
  return { ...counts, json: bytes.toString() };
}

/** The same rule, applied to values instead of bytes. The JSON left of a value, and what was cut. */
function cutValue(value: unknown, maxBytes: number, counts: { textCount: number; elementCount: number }): string {
  if (typeof value === 'string') return cutText(value, Math.min(maxBytes, MAX_TEXT_BYTES + 1), counts);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  let json = open ?? '';
  for (const [key, child] of Object.entries(value)) {
    const begin = `${json === open ? '' : ','}${Array.isArray(value) ? '' : `${JSON.stringify(key)}:`}`;
    const left = maxBytes - 1 - Buffer.byteLength(json + begin);
    if (Math.floor(left / 2) < 64) counts.elementCount++;
    else json += begin + cutValue(child, Math.floor(left / 2), counts);
  }
  return json + close;
}

function cutText(text: string, maxBytes: number, counts: { textCount: number }): string {
  const whole = JSON.stringify(text);
  if (Buffer.byteLength(whole) <= maxBytes) return whole;
  counts.textCount++;
  let kept = '';
  // Iterates over characters, not UTF-16 units, so no pair is split.
  for (const character of text) {
    if (Buffer.byteLength(JSON.stringify(kept + character)) > maxBytes - 48) break;
    kept += character;
  }
  return JSON.stringify(`${kept}... [cut: ${Buffer.byteLength(text)} bytes]`);
}

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\u0001', 'é', '密', '\u{1f600}'), maxLength: 400 }),
);
const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 12 }),
    fc.dictionary(fc.string({ unit: fc.constantFrom('a', 'b', '"', 'é'), maxLength: 4 }), tie('value'), {
      maxKeys: 12,
      noNullPrototype: true,
    }),
  ),
}));

describe('LineCutter', () => {
  it('keeps the first values of a line with too many, and what comes behind them', () => {
    const cutValues = (value: unknown) => {
      const cutter = new LineCutter({ maxBytes: Infinity, maxTextBytes: Infinity, maxValues: 100 });
      cutter.push(Buffer.from(JSON.stringify(value)));
      const { bytes, elementCount, textCount } = cutter.finish();
      return { value: JSON.parse(bytes.toString()), elementCount, textCount };
    };
    const text = 'x'.repeat(5000);
    const many = Array.from({ length: 1000 }, () => ({}));
    const { value, elementCount, textCount } = cutValues({ text, content: many, usage: { input_tokens: 5 } });
    expect(value).toMatchObject({ text, usage: { input_tokens: 5 } });
    expect(value.content.length + elementCount).toBe(1000);
    expect(value.content.length).toBeGreaterThan(10);
    expect(value.content.length).toBeLessThan(100);
    expect(textCount).toBe(0);
    expect(cutValues({ a: [1, 2, { b: 3 }] })).toEqual({
      value: { a: [1, 2, { b: 3 }] },
      elementCount: 0,
      textCount: 0,
    });
  });

  it('cuts any JSON by the documented rule, however its bytes are split', () => {
    fc.assert(
      fc.property(
        anyValue,
        fc.constantFrom(1, 7, 64 * 1024),
        fc.integer({ min: 256, max: 6000 }),
        (value, size, maxBytes) => {
          const counts = { textCount: 0, elementCount: 0 };
          const rootBytes = Math.floor((maxBytes - 1) / 2);
          const json = cutValue(value, rootBytes, counts);
          expect(cut(JSON.stringify(value), { size, maxBytes })).toEqual({ json, ...counts });
          expect(() => JSON.parse(json)).not.toThrow();
          expect(Buffer.byteLength(json)).toBeLessThanOrEqual(rootBytes);
          expect(cut(JSON.stringify(value, null, '\t '), { size, maxBytes }).json).toBe(json);
        },
      ),
    );
  });

  it('keeps the last value, whatever comes first', () => {
    const usage = { input_tokens: 5, output_tokens: 7 };
    const content = [
      'x'.repeat(1e6),
      Array.from({ length: 10_000 }, () => ({ a: 'b' })),
      Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, index])),
    ];
    for (const each of content) {
      const { json } = cut(JSON.stringify({ type: 'assistant', message: { content: each, usage } }), {
        size: 1000,
        maxBytes: 10_000,
      });
      expect(JSON.parse(json)).toMatchObject({ type: 'assistant', message: { usage } });
    }
  });

  it('never splits a character, nor an escaped surrogate pair', () => {
    for (const unit of ['é', '密', '\u{1f600}', String.raw`\ud83d\ude00`, String.raw`\u00e9`, String.raw`\"`]) {
      for (let before = 0; before < 13; before++) {
        const { json } = cut(`["${'x'.repeat(before)}${unit.repeat(200)}"]`);
        const [cutText = ''] = JSON.parse(json) as string[];
        expect(cutText.isWellFormed()).toBe(true);
        const whole = JSON.parse(`"${unit}"`) as string;
        expect(cutText).toMatch(new RegExp(`^x{${before}}(${whole})+\\.\\.\\. \\[cut: \\d+ bytes\\]$`, 'u'));
        expect(cutText).toContain(`[cut: ${before + 200 * Buffer.byteLength(whole)} bytes]`);
      }
    }
  });

  it.each([
    ['two objects', '{"a":1}{"b":2}', '{"a":1}{"b":2}'],
    ['a carriage return', '{"a":1}\r', '{"a":1}'],
    ['a byte order mark', '\uFEFF{"a":1}', '\uFEFF{"a":1}'],
    ['nothing', '  ', ''],
  ])('leaves %s', (_name, line, json) => {
    expect(cut(line)).toEqual({ json, textCount: 0, elementCount: 0 });
  });

  it.each([
    '{"a":1',
    '{"a"',
    '{"a":"b',
    '[1,2',
    '[1,]',
    '{"a" 1}',
    '{a:1}',
    '[1}',
    '{"a":1}]',
    '{"a":1,}',
    ']',
    'x y',
    '{,}',
  ])('leaves %j broken', (line) => {
    for (const size of [1, 64]) expect(() => JSON.parse(cut(line, { size }).json)).toThrow();
  });

  it('never throws, keeps a bounded amount, and gives the same result for any bytes however they are split', () => {
    const part = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      'u',
      'd83d',
      ' ',
      '12',
      'null',
      'é',
      '"a":"b"',
      'x'.repeat(300),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 60 }), fc.boolean(), (parts, closesTorn) => {
        const line = parts.join('');
        const whole = cut(line, { size: 1e6, maxBytes: 300, closesTorn });
        expect(Buffer.byteLength(whole.json)).toBeLessThanOrEqual(300);
        for (const size of [1, 7]) expect(cut(line, { size, maxBytes: 300, closesTorn })).toEqual(whole);
      }),
    );
  });

  it('completes the beginning of a truncated line', () => {
    const line = JSON.stringify({ type: 'user', list: [{ a: 'b' }, 12], text: 'x'.repeat(1000) });
    const whole = JSON.parse(cut(line).json) as object;
    for (let end = 1; end < line.length; end += 3) {
      const torn = JSON.parse(cut(line.slice(0, end), { closesTorn: true }).json) as object;
      if (end > 20) expect(torn).toMatchObject({ type: 'user' });
      expect(Object.keys(whole)).toEqual(expect.arrayContaining(Object.keys(torn)));
    }
  });

  it('drops numbers of any length, and members with long names', () => {
    expect(cut(`{"a":${'1'.repeat(5000)},"b":2,"${'k'.repeat(3000)}":{"c":[3,"]"]},"d":4}`)).toEqual({
      json: '{"b":2,"d":4}',
      textCount: 0,
      elementCount: 2,
    });
  });
});
