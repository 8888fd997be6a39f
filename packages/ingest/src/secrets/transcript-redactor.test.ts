import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AWS_SECRET,
  DATABASE_URL,
  GITHUB_TOKEN,
  NPM_TOKEN,
  PASSWORD,
  PRIVATE_KEY,
  SLACK_TOKEN,
} from './testing/sample-secrets.ts';
import { type SecretFinding, TranscriptRedactor } from './transcript-redactor.ts';

async function* inChunks(bytes: Buffer, chunkBytes: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += chunkBytes) yield bytes.subarray(start, start + chunkBytes);
}

async function redact(input: string | Buffer, options: { maxLineBytes?: number; chunkBytes?: number } = {}) {
  const findings: SecretFinding[] = [];
  const redactor = new TranscriptRedactor({
    maxLineBytes: options.maxLineBytes ?? 1024 * 1024,
    onFinding: (finding) => findings.push(finding),
  });
  const source = Buffer.from(input);
  const parts: Uint8Array[] = [];
  for await (const part of redactor.redact(inChunks(source, options.chunkBytes ?? 1000))) parts.push(part);
  return { bytes: Buffer.concat(parts), findings, hasChanged: redactor.hasChanged, source };
}

const toLine = (value: unknown): string => `${JSON.stringify(value)}\n`;

describe('TranscriptRedactor', () => {
  it('replaces secrets and leaves every line in place', async () => {
    const lines = [
      { text: `before ${GITHUB_TOKEN} after` },
      { text: 'nothing here' },
      { input: { command: `export T=${SLACK_TOKEN}\nexport AWS_SECRET_ACCESS_KEY=${AWS_SECRET}` }, key: PRIVATE_KEY },
    ].map(toLine);
    const { bytes, findings, hasChanged, source } = await redact(lines.join(''));
    const redacted = bytes.toString().split('\n');
    expect(redacted.map((line) => line.length)).toEqual(
      source
        .toString()
        .split('\n')
        .map((line) => line.length),
    );
    expect(redacted.slice(0, 3).map((line) => JSON.parse(line))).toEqual([
      { text: 'before [REDACTED:github] after' },
      { text: 'nothing here' },
      {
        input: { command: 'export T=[REDACTED:slack]\nexport AWS_SECRET_ACCESS_KEY=[REDACTED:aws]' },
        key: '[REDACTED:privatekey]',
      },
    ]);
    const thirdOffset = `${lines[0]}${lines[1]}`.length;
    expect(findings).toEqual([
      { rule: 'github', count: 1, lineNumber: 1, byteOffset: 0 },
      { rule: 'slack', count: 1, lineNumber: 3, byteOffset: thirdOffset },
      { rule: 'aws', count: 1, lineNumber: 3, byteOffset: thirdOffset },
      { rule: 'privatekey', count: 1, lineNumber: 3, byteOffset: thirdOffset },
    ]);
    expect(hasChanged).toBe(true);
  });

  it('returns what contains no secret, byte by byte', async () => {
    const input = Buffer.concat([
      Buffer.from('{"a": 1.0,  "b":"é\\u00e9"}\r\n\n'),
      Buffer.from([0xff, 0xfe, 0x0a, 0x00, 0xc3]),
    ]);
    expect(await redact(input, { chunkBytes: 3 })).toMatchObject({ bytes: input, findings: [], hasChanged: false });
  });

  it('leaves redacted text unchanged', async () => {
    const first = await redact(toLine({ a: GITHUB_TOKEN, b: DATABASE_URL, c: `mongodb://ab:c12@db.internal/x` }));
    const second = await redact(first.bytes);
    expect(first.hasChanged).toBe(true);
    expect(second).toMatchObject({ bytes: first.bytes, findings: [], hasChanged: false });
  });

  it.each([
    [
      'JSON within JSON',
      { result: JSON.stringify({ env: JSON.stringify({ text: `\n${GITHUB_TOKEN}\n${PRIVATE_KEY}` }) }) },
    ],
    ['keys', { [GITHUB_TOKEN]: 1, [`${PRIVATE_KEY}`]: 2 }],
    ['fields named for what they hold', { aws_secret_access_key: AWS_SECRET, nested: { x: [DATABASE_URL] } }],
    ['text around that is not English', { text: `密码${GITHUB_TOKEN}密码 é${SLACK_TOKEN}` }],
  ])('finds secrets in %s', async (_, value) => {
    const { bytes } = await redact(toLine(value), { chunkBytes: 7 });
    const text = bytes.toString();
    for (const secret of [GITHUB_TOKEN, AWS_SECRET, SLACK_TOKEN, PASSWORD, PRIVATE_KEY.split('\n')[3]]) {
      expect(text).not.toContain(secret);
    }
    expect(() => JSON.parse(text)).not.toThrow();
  });

  it('finds the secrets of malformed lines, and of an unterminated last one', async () => {
    const { bytes, source } = await redact(`{"a":"${GITHUB_TOKEN}\n${SLACK_TOKEN}\n{"b":"${GITHUB_TOKEN}`);
    expect(bytes).toHaveLength(source.length);
    expect(
      bytes
        .toString()
        .split('\n')
        .map((line) => line.trimEnd()),
    ).toEqual(['{"a":"[REDACTED:github]', '[REDACTED:slack]', '{"b":"[REDACTED:github]']);
  });

  it('finds a value that a later one of the same name hides', async () => {
    const { bytes } = await redact(`{"a":"${GITHUB_TOKEN}","a":"x"}\n`);
    expect(bytes.toString()).not.toContain(GITHUB_TOKEN);
  });

  it('finds secrets in a line that is too long to be buffered, wherever they are', async () => {
    const secrets = [GITHUB_TOKEN, `${'\n'.repeat(2)}${SLACK_TOKEN}`, PRIVATE_KEY, 'é"\\'];
    const fillers = ['x y ', '\n', '\\"', 'é ', '\u0001'];
    // Also at the ends of windows of 1 MiB, minus the overlap of 128 KiB.
    const text = Array.from({ length: 300 }, (_, index) => {
      const filler = (fillers[index % fillers.length] ?? '').repeat(1000 + 12 * index);
      return `${filler} ${secrets[index % secrets.length]} `;
    }).join('');
    const long = JSON.stringify({ text, last: GITHUB_TOKEN });
    expect(long.length).toBeGreaterThan(3_000_000);
    const input = `{"a":1}\n${long}\n{"b":"${SLACK_TOKEN}"}`;
    const whole = await redact(input, { maxLineBytes: 10_000_000 });
    for (const chunkBytes of [65_536, 1_000_000, 10_000_000]) {
      const { bytes, findings, hasChanged } = await redact(input, { maxLineBytes: 100_000, chunkBytes });
      expect(bytes.equals(whole.bytes)).toBe(true);
      expect(findings).toEqual(whole.findings);
      expect(hasChanged).toBe(true);
    }
    const line = JSON.parse(whole.bytes.toString().split('\n')[1] ?? '') as { text: string; last: string };
    expect(line.last).toBe('[REDACTED:github]');
    expect(line.text).not.toContain(SLACK_TOKEN);
  });

  it('leaves a long line without secrets unchanged', async () => {
    const { bytes, findings, hasChanged } = await redact(`{"a":1}\n${'x'.repeat(100)}\n`, { maxLineBytes: 50 });
    expect({ text: bytes.toString(), findings, hasChanged }).toEqual({
      text: `{"a":1}\n${'x'.repeat(100)}\n`,
      findings: [],
      hasChanged: false,
    });
  });

  it('gives the same result for bytes that are pushed as they arrive', async () => {
    const input = Buffer.from(`{"a":"${GITHUB_TOKEN}"}\n\n{"b":"${SLACK_TOKEN} ${SLACK_TOKEN}"}\n{"c":"${NPM_TOKEN}`);
    const expected = await redact(input);
    for (const chunkBytes of [1, 7, 60, 1000]) {
      const findings: SecretFinding[] = [];
      const redactor = new TranscriptRedactor({
        maxLineBytes: 1000,
        onFinding: (finding) => findings.push(finding),
      });
      const parts: Uint8Array[] = [];
      for await (const chunk of inChunks(input, chunkBytes)) parts.push(await redactor.push(chunk));
      // All complete lines have been emitted.
      expect(Buffer.concat(parts)).toHaveLength(input.lastIndexOf('\n') + 1);
      parts.push(await redactor.finish());
      expect({ bytes: Buffer.concat(parts), findings }).toEqual({ bytes: expected.bytes, findings: expected.findings });
    }
  });

  it('keeps any JSON valid, its lines in place and its other text, however it is split into chunks', async () => {
    const secret = fc.constantFrom(GITHUB_TOKEN, SLACK_TOKEN, PRIVATE_KEY, DATABASE_URL, `_authToken=${PASSWORD}`);
    const units = ['é', '"', '\n', 'n', ' ', '密', '\u{1f600}', '\u0000'];
    const text = fc.string({ unit: fc.constantFrom(...units, '\\') });
    // V8 13.6 parses a key that is a quote as a backslash if a similar object before had a backslash there.
    const key = fc.string({ unit: fc.constantFrom(...units) });
    const withSecret = fc.tuple(text, secret, text).map(([a, b, c]) => `${a} ${b} ${c}`);
    const value = fc.dictionary(key, fc.oneof(text, withSecret, fc.array(withSecret, { maxLength: 3 })));
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { maxLength: 4 }),
        fc.integer({ min: 1, max: 500 }),
        async (values, chunkBytes) => {
          const { bytes, source } = await redact(values.map(toLine).join(''), { chunkBytes });
          const lines = bytes.toString().split('\n');
          const sources = source.toString().split('\n');
          expect(lines.map((line) => Buffer.byteLength(line))).toEqual(sources.map((line) => Buffer.byteLength(line)));
          const parsed = lines.slice(0, -1).map((line) => JSON.parse(line));
          const mask = (json: string): string =>
            [GITHUB_TOKEN, SLACK_TOKEN, JSON.stringify(PRIVATE_KEY).slice(1, -1), `ada:${PASSWORD}`, PASSWORD].reduce(
              (masked, each) => masked.replaceAll(each, '#'),
              json,
            );
          const unmark = (json: string): string => json.replaceAll(/\[REDACTED(:[a-z-]+)?\]|\*{8,}/g, '#');
          expect(unmark(JSON.stringify(parsed))).toBe(mask(JSON.stringify(values)));
        },
      ),
    );
  });

  it.each([
    ['backslashes', '\\\\'],
    ['quotes', '\\"'],
    ['line feeds', '\\n'],
    ['spaces', ' '],
    ['beginnings of tokens', 'ghs_1_a'],
    ['beginnings of key files', '-----BEGIN PRIVATE KEY-----\\nMII'],
    ['beginnings of URLs', 'mongodb://a:'],
    ['names of secrets', 'AWS_SECRET_ACCESS_KEY = '],
    ['introductions', '_authToken='],
  ])('takes time linear in a line of nothing but %s', async (_, piece) => {
    const line = `{"a":"${piece.repeat(Math.ceil(500_000 / piece.length))}"}\n`;
    const before = process.threadCpuUsage();
    const { bytes } = await redact(line, { chunkBytes: 65_536 });
    expect(bytes).toHaveLength(line.length);
    // Processor time, not wall clock.
    expect(process.threadCpuUsage(before).user).toBeLessThan(20e6);
  });
});
