import { generateKeyPairSync } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { findPrivateKeys } from './private-keys.ts';
import { type SecretFinding, TranscriptRedactor } from './transcript-redactor.ts';

const passphrase = 'h4rd-2-guess';
const encrypted = { format: 'pem', cipher: 'aes-256-cbc', passphrase } as const;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const ed25519 = generateKeyPairSync('ed25519').privateKey;
/** Lines of base64 that begin as an OpenSSH key does. */
const armour = (first: string, lines: number): string =>
  Array.from({ length: lines }, (_, line) => (line === 0 ? first : '').padEnd(70, 'Zq7Hx2Lm9T/b4Rk+8Vw3')).join('\n');
const within = (kind: string, body: string): string =>
  [`-----BEGIN ${kind}-----`, body, `-----END ${kind}-----`].join('\n');

const KEYS: readonly (readonly [string, string])[] = [
  ['RSA', rsa.export({ type: 'pkcs1', format: 'pem' })],
  ['RSA in PKCS8', rsa.export({ type: 'pkcs8', format: 'pem' })],
  ['EC, SEC1', ec.export({ type: 'sec1', format: 'pem' })],
  ['EC in PKCS8', ec.export({ type: 'pkcs8', format: 'pem' })],
  ['Ed25519', ed25519.export({ type: 'pkcs8', format: 'pem' })],
  ['encrypted RSA', rsa.export({ type: 'pkcs1', ...encrypted })],
  ['encrypted EC', ec.export({ type: 'sec1', ...encrypted })],
  ['encrypted PKCS8', rsa.export({ type: 'pkcs8', ...encrypted })],
  ['encrypted Ed25519', ed25519.export({ type: 'pkcs8', ...encrypted })],
  ['OpenSSH', within('OPENSSH PRIVATE KEY', `${armour('b3BlbnNzaC1rZXktdjEAAAAA', 5)}\nAAAECQ==`)],
  ['PGP', within('PGP PRIVATE KEY BLOCK', `Version: GnuPG v2\nComment: Ada's key\n\n${armour('lQdGBGV', 20)}\n=aB3d`)],
].map(([name, pem]) => [String(name), String(pem).trim()] as const);

/** The secret lines of a key. */
const toBody = (pem: string): string[] => pem.split('\n').filter((line) => /^[A-Za-z0-9+/]{16,}={0,2}$/.test(line));
const lines = (pem: string, write: (line: string, index: number) => string): string =>
  pem.split('\n').map(write).join('\n');

const toEntities = (pem: string): string =>
  pem.replaceAll('+', '&#43;').replaceAll('/', '&#x2F;').replaceAll('=', '&#61;');

const FORMS: readonly (readonly [string, (pem: string) => string])[] = [
  ['a file', (pem) => pem],
  ['a file with something around it', (pem) => `$ cat key.pem\n${pem}\n$ ls -la\ntotal 12`],
  ['line numbers of the Read tool', (pem) => lines(pem, (line, index) => `${String(index + 1).padStart(6)}→${line}`)],
  ['line numbers and tabs', (pem) => lines(pem, (line, index) => `${String(index + 1).padStart(6)}\t${line}`)],
  ['line numbers and bars', (pem) => lines(pem, (line, index) => `${String(index + 1).padStart(4)} | ${line}`)],
  ['grep -n', (pem) => lines(pem, (line, index) => `${index + 1}:${line}`)],
  ['grep -rn', (pem) => lines(pem, (line, index) => `/home/ada/app/certs/server-key.pem:${index + 1}:${line}`)],
  ['grep -A', (pem) => lines(pem, (line, index) => `certs/dev key.pem${index === 0 ? ':' : '-'}${line}`)],
  ['grep -nA', (pem) => lines(pem, (line, i) => `certs/key.pem${i === 0 ? `:${i + 1}:` : `-${i + 1}-`}${line}`)],
  ['added lines of a diff', (pem) => `@@ -0,0 +1,9 @@\n${lines(pem, (line) => `+${line}`)}`],
  ['removed lines of a diff', (pem) => `--- a/key\n+++ /dev/null\n${lines(pem, (line) => `-${line}`)}`],
  ['unchanged lines of a diff', (pem) => lines(pem, (line) => ` ${line}`)],
  ['a diff in colours', (pem) => lines(pem, (line) => `\u001b[32m+\u001b[m\u001b[32m${line}\u001b[m`)],
  [
    'grep -n in colours',
    (pem) =>
      lines(pem, (line, i) => `\u001b[32m\u001b[K${i + 1}\u001b[m\u001b[K\u001b[36m\u001b[K:\u001b[m\u001b[K${line}`),
  ],
  ['a quoted mail', (pem) => lines(pem, (line) => `> ${line}`)],
  ['a comment', (pem) => lines(pem, (line) => `  // ${line}`)],
  ['an indented block of YAML', (pem) => `key: |\n${lines(pem, (line) => `    ${line}`)}\nnext: 1`],
  ['indentation by tabs', (pem) => lines(pem, (line) => `\t\t${line}`)],
  ['HTML', (pem) => `<pre>${toEntities(pem)}</pre>`],
  ['HTML with breaks', (pem) => toEntities(pem).replaceAll('\n', '<br>\n')],
  ['HTML with breaks only', (pem) => `<td>${pem.replaceAll('\n', '<br/>')}</td>`],
  ['a part of a URL', (pem) => `https://a.example/?key=${encodeURIComponent(pem)}&b=1`],
  ['Windows line ends', (pem) => pem.replaceAll('\n', '\r\n')],
  ['escaped line ends', (pem) => `KEY="${pem.replaceAll('\n', '\\n')}"`],
  ['line ends that are escaped twice', (pem) => JSON.stringify({ key: JSON.stringify({ pem }) })],
  ['one line', (pem) => pem.replaceAll('\n', ' ')],
  ['JSON', (pem) => JSON.stringify({ private_key: `${pem}\n`, client: 'ada' }, null, 2)],
  ['an array of its lines', (pem) => JSON.stringify({ lines: pem.split('\n').map((line) => `+${line}`) })],
  ['a printed array of its lines', (pem) => JSON.stringify({ lines: pem.split('\n') }, null, 2)],
  ['source code', (pem) => lines(pem, (line) => `  "${line}\\n" +`)],
  ['its first lines', (pem) => pem.split('\n').slice(0, -1).join('\n')],
  ['its last lines', (pem) => pem.split('\n').slice(1).join('\n')],
];
/** Forms that lose a part of the key: only whole lines need to be found, and long keys. */
const CUT_FORMS: readonly (readonly [string, (pem: string) => string])[] = [
  ['head', (pem) => pem.split('\n').slice(0, 8).join('\n')],
  [
    'head with text after it',
    (pem) => `${pem.split('\n').slice(0, 8).join('\n')}\n\nThis is the first part of the key.`,
  ],
  ['head -c', (pem) => pem.slice(0, 300)],
  [
    'the beginning of a file with line numbers',
    (pem) => lines(pem.split('\n').slice(0, 8).join('\n'), (l, i) => `  ${i}→${l}`),
  ],
  ['the beginning of a diff', (pem) => lines(pem.split('\n').slice(0, 8).join('\n'), (line) => `+${line}`)],
  ['tail', (pem) => pem.split('\n').slice(-8).join('\n')],
  [
    'tail with line numbers',
    (pem) => lines(pem.split('\n').slice(-8).join('\n'), (line, index) => `  ${index + 20}→${line}`),
  ],
  ['the end of a diff', (pem) => lines(pem.split('\n').slice(-8).join('\n'), (line) => `-${line}`)],
];

async function redact(text: string) {
  const findings: SecretFinding[] = [];
  const redactor = new TranscriptRedactor({ maxLineBytes: 1024 * 1024, onFinding: (each) => findings.push(each) });
  const source = Buffer.from(text);
  const parts: Uint8Array[] = [];
  for await (const part of redactor.redact(Readable.from([source]))) parts.push(part);
  const bytes = Buffer.concat(parts);
  expect(
    bytes
      .toString('latin1')
      .split('\n')
      .map(({ length }) => length),
  ).toEqual(
    source
      .toString('latin1')
      .split('\n')
      .map(({ length }) => length),
  );
  return { text: bytes.toString(), findings };
}

describe('findPrivateKeys', () => {
  describe.each(FORMS)('as %s', (_form, write) => {
    it.each(KEYS)('finds %s', async (_key, pem) => {
      const written = write(pem);
      const body = toBody(pem);
      // In the line of a transcript, in a separate file, and in a result that a line has twice.
      const line = await redact(`${JSON.stringify({ type: 'user', result: { content: written, is_error: false } })}\n`);
      const file = await redact(written);
      for (const secret of body) {
        expect(line.text).not.toContain(secret);
        expect(file.text).not.toContain(secret);
        // Encoded lines differ in a few characters.
        const run = secret.split(/[+/=]/).reduce((one, other) => (other.length > one.length ? other : one));
        if (run.length >= 16) expect(line.text + file.text).not.toContain(run);
      }
      expect(JSON.parse(line.text)).toMatchObject({ type: 'user', result: { is_error: false } });
      expect(line.findings).toEqual([{ rule: 'privatekey', count: 1, lineNumber: 1, byteOffset: 0 }]);
      expect(file.findings.map(({ rule, count }) => [rule, count])).toEqual([['privatekey', 1]]);
    });
  });

  describe.each(CUT_FORMS)('cut as %s', (_form, write) => {
    it.each(KEYS.filter(([, pem]) => pem.length > 1200))('finds %s', async (_key, pem) => {
      const written = write(pem);
      const { text } = await redact(JSON.stringify({ written }));
      for (const secret of toBody(pem)) expect(text).not.toContain(secret);
      expect(text).not.toMatch(/[A-Za-z0-9+/]{30}/);
      expect(() => JSON.parse(text)).not.toThrow();
    });
  });

  it('keeps JSON valid where each line of a key is a string', async () => {
    const [, pem = ''] = KEYS[0] ?? [];
    const patch = { structuredPatch: [{ oldStart: 1, lines: pem.split('\n').map((line) => `+${line}`) }], after: 'x' };
    const { text } = await redact(JSON.stringify(patch));
    const { structuredPatch, after } = JSON.parse(text) as typeof patch;
    expect(structuredPatch[0]?.lines).toHaveLength(pem.split('\n').length);
    expect(new Set(structuredPatch[0]?.lines)).toEqual(new Set(['+[REDACTED:privatekey]', '[REDACTED:privatekey]']));
    expect(after).toBe('x');
  });

  it('leaves what follows a key, and what stands between two', async () => {
    const [[, first = ''] = [], [, second = ''] = []] = KEYS;
    const { text } = await redact(JSON.stringify({ a: `one ${first} two\n${second}\nthree` }));
    expect(JSON.parse(text)).toEqual({ a: 'one [REDACTED:privatekey] two\n[REDACTED:privatekey]\nthree' });
    const cut = first.split('\n').slice(0, 5).join('\n');
    expect(JSON.parse((await redact(JSON.stringify({ a: `${cut}\n\nDone reading the key.` }))).text)).toEqual({
      a: '[REDACTED:privatekey]\n\nDone reading the key.',
    });
  });

  it('finds the end of one key after the beginning of another', async () => {
    const [, pem = ''] = KEYS[0] ?? [];
    const all = pem.split('\n');
    const { text } = await redact(
      ['before', ...all.slice(0, 9), 'between the two', ...all.slice(-9), 'after'].join('\n'),
    );
    expect(text).not.toMatch(/[A-Za-z0-9+/]{30}/);
    expect(text).toMatch(/^before\n.*\nbetween the two\n.*\nafter$/s);
  });

  it('finds a key wherever it is in a line that is searched in pieces', async () => {
    const [, pem = ''] = KEYS[0] ?? [];
    const long = JSON.stringify({
      text: `${`${'x y '.repeat(30_000)}\n${lines(pem, (l, i) => `${i}→${l}`)}\n`.repeat(24)}`,
    });
    const redactor = new TranscriptRedactor({ maxLineBytes: 100_000, onFinding: () => undefined });
    const bytes = Buffer.concat([await redactor.push(Buffer.from(long)), await redactor.finish()]);
    expect(bytes).toHaveLength(Buffer.byteLength(long));
    expect(bytes.toString()).not.toMatch(/[A-Za-z0-9+/]{50}/);
  });

  it.each([
    ['marks in prose', 'It begins with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.'],
    [
      'marks in code',
      `if (text.startsWith('-----BEGIN PRIVATE KEY-----')) return readFile("/usr/share/app/node/modules/of/the/key/reader")`,
    ],
    ['examples', '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg...\n-----END PRIVATE KEY-----'],
    ['a place for a key', '-----BEGIN PRIVATE KEY-----\nYOUR_KEY_HERE\n-----END PRIVATE KEY-----'],
    ['certificates', `-----BEGIN CERTIFICATE-----\n${armour('MIIB', 12)}\n-----END CERTIFICATE-----`],
    ['public keys', `-----BEGIN PUBLIC KEY-----\n${armour('MIIB', 6)}\n-----END PUBLIC KEY-----`],
    ['a mark before other base64', `-----BEGIN PRIVATE KEY-----\n${'0a1b2c3d'.repeat(8)}\n`],
    ['a mark after a certificate', `${armour('MIIB', 12)}\n-----END CERTIFICATE-----\n-----END PRIVATE KEY-----`],
  ])('ignores %s', (_, text) => {
    expect(findPrivateKeys(text)).toEqual([]);
  });

  it.each([
    '-----BEGIN RSA PRIVATE KEY-----\nMII',
    '-----BEGIN RSA PRIVATE KEY-----',
    '-----END RSA PRIVATE KEY-----',
    'MIIEpAIBAAKCAQEA7xMIIEpAIBAAKCAQEA7xMIIEpAIBAAKC\n-----END RSA PRIVATE KEY-----\n',
    '-----BEGIN PGP PRIVATE KEY BLOCK----- a b c d',
    '-----BEGIN A A A A ',
    '+ ',
    'M',
  ])('takes time linear in a megabyte of nothing but %j', (piece) => {
    const text = `-----BEGIN PRIVATE KEY-----\n${piece.repeat(Math.ceil(1e6 / piece.length))}`;
    const before = process.threadCpuUsage();
    findPrivateKeys(text);
    expect(process.threadCpuUsage(before).user).toBeLessThan(1e6);
  });
});
