import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../lines/json.ts';
import { LiveLineDecoder, type LiveLineDecoderOptions } from './live-line-decoder.ts';

function decode(chunks: readonly (Uint8Array | string)[], options: LiveLineDecoderOptions = {}, isEnded = true) {
  const values: JsonObject[] = [];
  const log: string[] = [];
  const decoder = new LiveLineDecoder(
    {
      onLine({ lineNumber, byteOffset, byteLength, value, isLarge }) {
        values.push(value);
        log.push(`${isLarge ? 'large' : 'line'} ${lineNumber} at ${byteOffset}+${byteLength}`);
      },
      onWarning: ({ code, lineNumber, byteOffset }) => log.push(`${code} ${lineNumber} at ${byteOffset}`),
    },
    options,
  );
  for (const chunk of chunks) decoder.push(chunk);
  if (isEnded) decoder.end();
  return { values, log };
}

describe('LiveLineDecoder', () => {
  it('emits a line as soon as it is complete, and waits for the rest of a partial one', () => {
    const { values, log } = decode(['{"a"', ':1}\n{"b":2}\r\n\n  \n{"c"'], {}, false);
    expect(values).toEqual([{ a: 1 }, { b: 2 }]);
    expect(log).toEqual(['line 1 at 0+7', 'line 2 at 8+8']);
  });

  it('emits an unterminated last line when the stream ends, and warns of a truncated one', () => {
    expect(decode(['{"a":1}']).values).toEqual([{ a: 1 }]);
    expect(decode(['{"a":1}\n{"b']).log).toEqual(['line 1 at 0+7', 'truncated_last_line 2 at 8']);
  });

  it('warns of bad JSON and of JSON that is not an object, and continues', () => {
    const { values, log } = decode(['oops\n[1]\n5\n{"a":1}\n']);
    expect(values).toEqual([{ a: 1 }]);
    expect(log).toEqual(['invalid_json 1 at 0', 'not_an_object 2 at 5', 'not_an_object 3 at 9', 'line 4 at 11+7']);
  });

  it('reads concatenated objects, and the whole ones of a truncated line', () => {
    const { values, log } = decode(['{"a":1}{"b":2}\n{"c":3}{"d"\n']);
    expect(values).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
    expect(log.filter((entry) => !entry.startsWith('line'))).toEqual(['glued_objects 1 at 0', 'invalid_json 2 at 15']);
  });

  it('replaces invalid UTF-8, NUL and lone surrogates, and skips byte order marks', () => {
    const invalid = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}\n')]);
    const { values, log } = decode([invalid, '\uFEFF{"b":"\\u0000\\ud83d"}\n']);
    expect(values).toEqual([{ a: '\uFFFD' }, { b: '\uFFFD\uFFFD' }]);
    expect(log.filter((entry) => !entry.startsWith('line'))).toEqual([
      'invalid_utf8 1 at 0',
      'byte_order_mark 2 at 10',
      'replaced_characters 2 at 10',
    ]);
  });

  it('joins a character that two chunks share', () => {
    const bytes = Buffer.from('{"a":"é🎉"}\n');
    const chunks = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(decode(chunks)).toEqual({ values: [{ a: 'é🎉' }], log: ['line 1 at 0+14'] });
  });

  it('flags a line of more than 1 MiB', () => {
    const line = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}\n`;
    expect(decode([line(1_048_576)]).log).toEqual(['line 1 at 0+1048576']);
    expect(decode([line(1_048_577)]).log).toEqual(['large_message 1 at 0', 'large 1 at 0+1048577']);
  });

  it('drops a line that exceeds the bound, reports it immediately, and resumes after the next line feed', () => {
    const { log } = decode(['{"a":"xxxx', 'xxxxxxxxxxxxx'], { maxBufferBytes: 20 }, false);
    expect(log).toEqual(['buffer_overflow 1 at 0']);
    const resumed = decode(['{"a":"xxxx', 'xxxxxxxxxxxxx', 'xxx"}\n{"b":2}\n'], { maxBufferBytes: 20 });
    expect(resumed).toEqual({ values: [{ b: 2 }], log: ['buffer_overflow 1 at 0', 'line 2 at 29+7'] });
    const whole = decode(['{"a":"xxxxxxxxxxxxxxxxxxxx"}\n{"b":2}\n'], { maxBufferBytes: 20 });
    expect(whole.log).toEqual(['buffer_overflow 1 at 0', 'line 2 at 29+7']);
  });

  it('accepts a line of exactly the bound', () => {
    const line = `{"a":"${'x'.repeat(12)}"}`;
    expect(decode([line, '\n'], { maxBufferBytes: 20 }).log).toEqual(['line 1 at 0+20']);
  });

  it('buffers a bounded part of an endless line', () => {
    const decoder = new LiveLineDecoder({ onLine() {}, onWarning() {} }, { maxBufferBytes: 1024 });
    const chunk = Buffer.alloc(1024 * 1024, 0x78);
    const before = process.memoryUsage().arrayBuffers;
    for (let index = 0; index < 200; index++) decoder.push(chunk);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * 1024 * 1024);
  });

  it('calls a stream corrupted after ten unreadable lines in a row, and starts counting again', () => {
    const bad = (count: number): string => 'bad\n'.repeat(count);
    const corruptions = (text: string): number =>
      decode([text]).log.filter((entry) => entry.startsWith('stream_corrupted')).length;
    expect(corruptions(bad(9))).toBe(0);
    expect(corruptions(bad(10))).toBe(1);
    expect(corruptions(bad(19))).toBe(1);
    expect(corruptions(bad(20))).toBe(2);
    expect(corruptions(`${bad(9)}{"a":1}\n${bad(9)}`)).toBe(0);
    expect(decode([`${bad(10)}{"a":1}\n`]).values).toEqual([{ a: 1 }]);
  });
});
