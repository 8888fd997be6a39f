import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { RULE_SET_VERSION } from './rule-set-version.ts';
import { createSecretScanner } from './secret-scanner.ts';
import { AWS_SECRET, DATABASE_URL, GITHUB_TOKEN, NPM_TOKEN, PASSWORD, SLACK_TOKEN } from './testing/sample-secrets.ts';

const scanner = createSecretScanner();
const find = async (text: string): Promise<[string, string][]> =>
  (await scanner.scan(text)).map(({ rule, start, end }) => [rule, text.slice(start, end)]);

describe('createSecretScanner', () => {
  it.each([
    ['a token', `use ${GITHUB_TOKEN}, please`, 'github', GITHUB_TOKEN],
    ['a bot token', `SLACK=${SLACK_TOKEN}`, 'slack', SLACK_TOKEN],
    // The rule's own range ends within the secret.
    ['all of an assigned secret', `AWS_SECRET_ACCESS_KEY=${AWS_SECRET}\nAWS_REGION=eu`, 'aws', AWS_SECRET],
    ['a quoted assigned secret', `{"aws_secret_access_key": "${AWS_SECRET}"}`, 'aws', AWS_SECRET],
    // The rule's own range extends to the end of the line.
    ['a word of a line', `_authToken=${PASSWORD} # && npm publish`, 'npm', PASSWORD],
    ['a quoted word', `_authToken="${PASSWORD}" npm publish`, 'npm', PASSWORD],
    ['a package registry token', `.npmrc ${NPM_TOKEN}`, 'npm', NPM_TOKEN],
    ['user and password of a URL', `DB=${DATABASE_URL}`, 'database-connection-string', `ada:${PASSWORD}`],
    ['user and password of a web address', `https://ada:${PASSWORD}@example.org/x`, 'basicauth', `ada:${PASSWORD}`],
  ])('finds %s', async (_, text, rule, secret) => {
    expect(await find(text)).toEqual([[rule, secret]]);
  });

  it.each([
    ['a placeholder', `ghp_xxxx and https://user:password@example.org`],
    ['a variable', `_authToken=\${NPM_TOKEN} AWS_SECRET_ACCESS_KEY=$SECRET`],
    [
      'hashes and ids',
      `6f1c2a9be7d04f1d8a35c0b7e2f4961d0a8b3c5e 01J00000000000000000000001 toolu_01A09q90qw90lq917835lq9`,
    ],
    ['redacted text', 'postgresql://[REDACTED:database-connection-string]@db.internal/app _authToken=[REDACTED:npm]'],
    ['redacted text that was shortened to fit', 'postgresql://*******@db.internal/app'],
  ])('ignores %s', async (_, text) => {
    expect(await find(text)).toEqual([]);
  });

  it('cannot be switched off by a transcript', async () => {
    expect(await find(`# secretlint-disable\n${GITHUB_TOKEN} // secretlint-disable-line`)).toHaveLength(1);
  });

  it('finds every secret of a line even if a rule extends to its end', async () => {
    const text = `set //a/:_authToken=${PASSWORD} && set //b/:_authToken=${PASSWORD}2 && done`;
    expect(await find(text)).toEqual([
      ['npm', PASSWORD],
      ['npm', `${PASSWORD}2`],
    ]);
  });

  it('finds secrets of long texts, wherever they are, and the end of each', async () => {
    const windows = 3 * 256 * 1024;
    const text = `${GITHUB_TOKEN} ${'x '.repeat(windows / 4)}`.repeat(2);
    const places = Array.from({ length: 40 }, (_, index) => 245_750 + index);
    for (const length of [0, ...places]) {
      const shifted = 'x'.repeat(length).concat(' ', text);
      const found = await scanner.scan(shifted);
      expect(found.map(({ start, end }) => shifted.slice(start, end))).toEqual([GITHUB_TOKEN, GITHUB_TOKEN]);
    }
  });

  it('takes time linear in the text, however many secrets it has', async () => {
    expect(await scanner.scan(`${GITHUB_TOKEN} `.repeat(20_000))).toHaveLength(20_000);
  });

  it.each(['%3D§%26', '%3d§', '%3A§%0a', '%253D§%2526', '%25253d§', '密码§密码', 'é§é', '𠮷§'])(
    'finds a secret in %s',
    async (text) => {
      const found = await scanner.scan(text.replace('§', GITHUB_TOKEN));
      const start = text.indexOf('§');
      expect(found).toEqual([{ rule: 'github', start, end: start + GITHUB_TOKEN.length }]);
    },
  );

  it.each([
    ['a token for apps', ['xapp', '-1-A0Q7XW2L9TB-1234567890123-', '0f1e2d3c4b5a69788796a5b4c3d2e1f0'.repeat(2)]],
    ['a cookie', ['xoxd', '-Zq7Hx2Lm%2BTb4Rk8%2FVw3Nd6Yp1Cs5Gj0Fa%3D%3D']],
  ])('finds all of %s of Slack, also between underscores, as in Markdown', async (_, parts) => {
    const secret = parts.join('');
    expect(await find(`_${secret}_ and ${secret};`)).toEqual([
      ['slack', secret],
      ['slack', secret],
    ]);
  });

  it('merges overlapping matches', async () => {
    const matches = await scanner.scan(`https://ada:${GITHUB_TOKEN}@example.org/`);
    expect(matches).toHaveLength(1);
    expect(matches[0]).toMatchObject({ start: 8, end: 12 + GITHUB_TOKEN.length });
  });

  it('names the installed version of the library, and of the rules beside it', () => {
    const require = createRequire(import.meta.url);
    const { version } = require('@secretlint/secretlint-rule-preset-recommend/package.json') as { version: string };
    expect(RULE_SET_VERSION.split('+')).toEqual([`secretlint-${version}`, expect.stringMatching(/^\d+$/)]);
  });
});
