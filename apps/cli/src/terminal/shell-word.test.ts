import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toShellWord } from './shell-word.ts';

describe('toShellWord', () => {
  it.each(['5dd9f6f5-700b-4247-91dd-e1af3b04230e', 'parent:agent-1', 'T-1_a.b'])('leaves %s unchanged', (id) => {
    expect(toShellWord(id)).toBe(id);
  });

  it('quotes what a shell would not read as one word', () => {
    expect(toShellWord('$(id)')).toBe("'$(id)'");
    expect(toShellWord("a'; id #")).toBe("'a'\\''; id #'");
    expect(toShellWord('')).toBe("''");
    expect(toShellWord('a\u001B[31m\nb')).toBe("'a[31m b'");
  });

  it.skipIf(process.platform === 'win32')('gives a shell one word for any text', () => {
    const anyText = fc.string({ unit: fc.constantFrom(...'$`"\'\\;&|<>(){}[]*?!#~ -=ab') });
    const texts = fc.sample(fc.array(anyText, { minLength: 50, maxLength: 50 }), 4).flat();
    const printed = execFileSync('sh', ['-c', `printf '%s\\n' ${texts.map(toShellWord).join(' ')}`], {
      encoding: 'utf8',
    });
    expect(printed.split('\n').slice(0, -1)).toEqual(texts.map((text) => text.trim().replaceAll(/ +/g, ' ')));
  });
});
