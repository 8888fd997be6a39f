import { describe, expect, test } from 'vitest';
import { createServerLog } from './spawn-postgres.ts';

function collectLines(chunks: string[]) {
  const lines: string[] = [];
  const log = createServerLog((line) => lines.push(line));
  for (const chunk of chunks) log.append(chunk);
  return { lines, tail: log.tail() };
}

describe('createServerLog', () => {
  test('joins lines across chunks and holds back an unfinished one', () => {
    expect(collectLines(['LOG: a\nLO', 'G: b\n', 'LOG: c'])).toEqual({
      lines: ['LOG: a', 'LOG: b'],
      tail: 'LOG: a\nLOG: b\nLOG: c',
    });
  });

  test('cuts endless lines and forgets all but the end', () => {
    const chunks = Array.from({ length: 100 }, () => 'x'.repeat(1_000));
    const { lines, tail } = collectLines([...chunks, '\nend\n']);
    expect(lines).toEqual(['x'.repeat(8_192), 'end']);
    expect(tail).toBe(`${'x'.repeat(1_995)}\nend`);
  });
});
