import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toReturnPath } from './return-path.ts';

it('keeps paths of this server', () => {
  for (const path of ['/', '/sessions/a%2Fb', '/admin?view=browsers#x', '/a//b']) expect(toReturnPath(path)).toBe(path);
});

it('leads to the first page instead of elsewhere, however that is written', () => {
  const elsewhere = [
    ...['//evil.example', '///evil.example', '/\\evil.example', '\\\\evil.example', '/\\/evil.example'],
    ...['/\t/evil.example', '/\n/evil.example', '\t//evil.example', ' //evil.example', '/\r\n/evil.example'],
    ...['/.//evil.example', '/..//evil.example', '/a/..//evil.example', '/%2e//evil.example', '/./\\evil.example'],
    ...['https://evil.example', 'https:evil.example', 'javascript:alert(1)', 'data:text/html,x', 'evil.example', ''],
    '//recount.invalid@evil.example',
  ];
  for (const next of elsewhere) expect(toReturnPath(next), JSON.stringify(next)).toBe('/');
  expect(toReturnPath(undefined)).toBe('/');
});

it('never leads to another origin', () => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '\t',
    '\n',
    '\r',
    '.',
    '..',
    '%2f',
    '%5c',
    '%2e',
    '@',
    ':',
    'evil.example',
    '?',
    '#',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const path = toReturnPath(`/${pieces.join('')}`);
      expect(new URL(path, 'https://recount.example').origin).toBe('https://recount.example');
    }),
  );
});
