import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { generateTranscript, parseByteSize } from './generate-transcript.ts';

const targetBytes = 10_000_000;
const messageTypes = new Set(['user', 'assistant', 'system', 'summary']);

interface Line {
  readonly type: string;
  readonly sessionId?: string;
  readonly message?: {
    readonly id?: string;
    readonly content: unknown;
    readonly stop_reason?: string | null;
    readonly usage?: { readonly output_tokens: number };
  };
}

const transcript = Buffer.concat([...generateTranscript({ seed: 10, targetBytes })]);
const texts = transcript.toString().split('\n').slice(0, -1);
const lines = texts.map((text) => JSON.parse(text) as Line);
const messageLines = new Map<string, { index: number; line: Line }[]>();
for (const [index, line] of lines.entries()) {
  if (line.type !== 'assistant' || line.message?.id === undefined) continue;
  messageLines.set(line.message.id, [...(messageLines.get(line.message.id) ?? []), { index, line }]);
}

const share = (matches: readonly unknown[]) => matches.length / lines.length;
const sha256 = (seed: number) => {
  const hash = createHash('sha256');
  for (const chunk of generateTranscript({ seed, targetBytes: 1_000_000 })) hash.update(chunk);
  return hash.digest('hex');
};

describe('generateTranscript', () => {
  it('writes the same bytes for the same seed, and different ones for another', () => {
    expect(sha256(3)).toBe(sha256(3));
    expect(sha256(3)).not.toBe(sha256(4));
  });

  it('ends with the first line that reaches the target', () => {
    const lastLineBytes = Buffer.byteLength(`${texts.at(-1)}\n`);
    expect(transcript.at(-1)).toBe(0x0a);
    expect(transcript.length).toBeGreaterThanOrEqual(targetBytes);
    expect(transcript.length - lastLineBytes).toBeLessThan(targetBytes);
  });

  it('yields full chunks of 64 KiB and a shorter last one', () => {
    const sizes = Array.from(generateTranscript({ seed: 7, targetBytes: 300_000 }), (chunk) => chunk.length);
    expect(new Set(sizes.slice(0, -1))).toEqual(new Set([65_536]));
    expect(sizes.at(-1)).toBeLessThanOrEqual(65_536);
  });

  it('keeps its shares of metadata lines and of non-ASCII lines, and its mean line length', () => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII itself
    const outsideAscii = texts.filter((text) => /[^\u0000-\u007f]/.test(text));
    expect(share(lines.filter((line) => !messageTypes.has(line.type)))).toBeCloseTo(0.35, 1);
    expect(share(outsideAscii)).toBeGreaterThan(0.09);
    expect(share(outsideAscii)).toBeLessThan(0.15);
    expect(transcript.length / lines.length).toBeGreaterThan(5500);
    expect(transcript.length / lines.length).toBeLessThan(8500);
    expect(Math.max(...texts.map((text) => text.length))).toBeGreaterThan(100_000);
  });

  it('splits messages over one to four lines, the last with the final usage, some much later', () => {
    const groups = [...messageLines.values()];
    expect(new Set(groups.map((group) => group.length))).toEqual(new Set([1, 2, 3, 4]));
    for (const group of groups.filter((group) => group.at(-1)?.line.message?.stop_reason)) {
      const output = group.map(({ line }) => line.message?.usage?.output_tokens ?? 0);
      expect(output.at(-1)).toBe(Math.max(...output));
      expect(output.slice(0, -1).every((tokens) => tokens <= 8)).toBe(true);
    }
    const spans = groups.map((group) => (group.at(-1)?.index ?? 0) - (group[0]?.index ?? 0));
    expect(Math.max(...spans)).toBeGreaterThan(100);
    expect(Math.max(...spans)).toBeLessThanOrEqual(350);
  });

  it('takes the session id from the options', () => {
    const sessionId = '11111111-2222-4333-8444-555555555555';
    const text = Buffer.concat([...generateTranscript({ seed: 1, targetBytes: 50_000, sessionId })]).toString();
    const ids = text
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as Line).sessionId);
    expect(new Set(ids.filter((id) => id !== undefined))).toEqual(new Set([sessionId]));
  });
});

describe('parseByteSize', () => {
  it('reads plain bytes and powers of 1000', () => {
    expect(['1500', '144MB', '0.5 gb', '64kb'].map(parseByteSize)).toEqual([1500, 144e6, 5e8, 64_000]);
  });

  it('refuses anything else', () => {
    for (const text of ['', 'MB', '-1', '5 parsecs', '1e6']) expect(() => parseByteSize(text)).toThrow(RangeError);
  });
});
