import { describe, expect, it } from 'vitest';
import { OWN_RULES } from './own-rules.ts';
import { TranscriptRedactor } from './transcript-redactor.ts';

/** The line without secrets; it has as many bytes as before. */
async function redactLine(line: string): Promise<string> {
  const redactor = new TranscriptRedactor({ maxLineBytes: 1024 * 1024, onFinding: () => undefined });
  const source = Buffer.from(`${line}\n`);
  const redacted = Buffer.from(await redactor.push(source));
  expect(redacted).toHaveLength(source.length);
  return redacted.toString().trimEnd();
}

/** The text around a secret in files and in the output of programs. */
const SURROUNDINGS: readonly (readonly [string, (secret: string) => string])[] = [
  ['nothing', (secret) => secret],
  ['a sentence', (secret) => `Use ${secret}, or ask.`],
  ['the end of a sentence', (secret) => `The key is ${secret}.`],
  ['an assignment', (secret) => `export KEY=${secret}`],
  ['a quoted assignment', (secret) => `KEY="${secret}"\nOTHER='${secret}'`],
  ['YAML', (secret) => `key: ${secret} # note`],
  ['JSON', (secret) => JSON.stringify({ key: secret, next: [secret] })],
  ['JSON in JSON', (secret) => JSON.stringify({ a: JSON.stringify({ b: JSON.stringify([secret]) }) })],
  ['a header', (secret) => `Authorization: Bearer ${secret}\r\nAccept: */*`],
  ['a shell command', (secret) => `curl -H 'x-api-key: ${secret}' "https://api.example.org/v1"`],
  ['Markdown', (secret) => `Set \`${secret}\` and **${secret}**`],
  ['line numbers of the Read tool', (secret) => `     1→KEY=1\n     2→${secret}\n     3→`],
  ['line numbers and tabs', (secret) => `     1\tKEY=1\n     2\t${secret}\n`],
  ['grep', (secret) => `src/.env:12:${secret}`],
  ['grep in colours', (secret) => `src/.env:12:\u001b[01;31m\u001b[K${secret}\u001b[m\u001b[K`],
  ['a diff', (secret) => `@@ -1,2 +1,2 @@\n-${secret}\n+${secret}\n`],
  ['Windows line ends', (secret) => `KEY=${secret}\r\nNEXT=1\r\n`],
  ['tabs', (secret) => `key\t${secret}\tend`],
  ['brackets', (secret) => `key(${secret}) [${secret}] {${secret}}`],
  ['XML', (secret) => `<key>${secret}</key>`],
  ['letters of other scripts', (secret) => `密码${secret}密码`],
];

describe('findOwnSecrets', () => {
  describe.each(OWN_RULES.map((rule) => [rule.name, rule] as const))('%s', (_, { pattern, example, name }) => {
    const text = example.join('');
    const found = [...text.matchAll(pattern)][0];
    const secret = found?.groups?.secret ?? found?.[0] ?? text;

    it.each(SURROUNDINGS)('is found in %s', async (_surrounding, surround) => {
      const line = await redactLine(JSON.stringify({ text: surround(text) }));
      expect(line).not.toContain(secret);
      const parsed = JSON.parse(line) as { text: string };
      expect(parsed.text).toMatch(/\[REDACTED/);
    });

    it('is found in its own example', () => {
      expect(found?.index).toBeDefined();
      expect(name).toMatch(/^[a-z0-9-]{3,20}$/);
    });

    it('is not found in part of a word, and not twice', async () => {
      const once = await redactLine(JSON.stringify({ text }));
      expect(await redactLine(once)).toBe(once);
      if (found?.groups?.secret === undefined) {
        expect(await redactLine(`word${text}`)).toBe(`word${text}`);
      }
    });
  });

  it.each([
    ['placeholders', 'redis://user:password@cache and amqp://x:xxxx@mq and redis://:your-password@h and a://b:***@c'],
    ['variables', 'redis://:$' + '{REDIS_PASSWORD}@cache amqp://u:$PASS@mq redis://:{password}@h a://b:%s@c'],
    ['what everybody tries', 'amqp://guest:guest@localhost:5672'],
    ['URLs without a password', 'ssh://git@github.example:22/x http://localhost:3000/@scope npm://a:1/b@c'],
    ['a parameter without a value', 'https://example.org/?password=&pwd=<yours>'],
    ['the id of an example', 'AKIAIOSFODNN7EXAMPLE'],
    [
      'prefixes in prose and code',
      'keys begin with sk-ant-oat01-, rk_ or PMAK-; `AIza…`; rk_live, secret_name, sb_secret_',
    ],
    [
      'names that begin alike',
      'const rk_key_of_the_workspace_that_has_it = ops_eyJ; SKeleton ACcount do_v1_x gl-button xox-hugs',
    ],
    ['hashes and ids', 'sha256-Zq7Hx2Lm9Tb4Rk8Vw3Nd6Yp1Cs5Gj0FaZq7Hx2Lm9Tb4 01JA8K3M5N7P9Q1R3S5T7V9W0X 1234567890:12'],
  ])('ignores %s', async (_, text) => {
    expect(await redactLine(text)).toBe(text);
  });

  it('removes the password of a URL and leaves what it connects to', async () => {
    const text = 'amqps://ada:h4rd-2.guess!@mq.internal:5671/v and mssql+pyodbc://sa:P%40ss.w0rd@db/x?driver=y';
    expect(await redactLine(text)).toBe(
      'amqps://[REDACTED]@mq.internal:5671/v and mssql+pyodbc://[REDACTED]@db/x?driver=y',
    );
  });

  it.each([
    ...new Set(OWN_RULES.flatMap(({ hints = [] }) => hints)),
    '://a:b',
    '://:',
    '?password=a',
    'M1234567890123456789012.',
    'SKa',
    'aws_session_token = ',
    ...OWN_RULES.map(({ example }) => example.join('').slice(0, -1)),
  ])('takes time linear in a megabyte of nothing but %s', async (piece) => {
    const line = piece.repeat(Math.ceil(1e6 / piece.length));
    const { findOwnSecrets } = await import('./own-rules.ts');
    const before = process.threadCpuUsage();
    findOwnSecrets(line);
    expect(process.threadCpuUsage(before).user).toBeLessThan(1e6);
  });
});
