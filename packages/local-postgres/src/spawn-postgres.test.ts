import { describe, expect, test } from 'vitest';
import { createServerLog, toServerOptions } from './spawn-postgres.ts';

function collectLines(chunks: string[]) {
  const lines: string[] = [];
  const log = createServerLog((line) => lines.push(line));
  for (const chunk of chunks) log.append(chunk);
  return { lines, tail: log.tail() };
}

test('settings for pg_ctl are one argument, without characters that a command interpreter treats specially', () => {
  const settings = { port: '5432', listen_addresses: '127.0.0.1', unix_socket_directories: '', max_wal_size: '2GB' };
  expect(toServerOptions(settings)).toBe(
    '-c port=5432 -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_wal_size=2GB',
  );
  for (const value of ['a b', '"', '%PATH%', 'a&b', 'a|b', '^']) {
    expect(() => toServerOptions({ log_line_prefix: value })).toThrow('cannot be given on Windows');
  }
});

describe('createServerLog', () => {
  test('joins lines across chunks and holds back an unfinished one', () => {
    expect(collectLines(['LOG: a\nLO', 'G: b\n', 'LOG: c'])).toEqual({
      lines: ['LOG: a', 'LOG: b'],
      tail: 'LOG: a\nLOG: b\nLOG: c',
    });
  });

  test('cuts endless lines and keeps only the end', () => {
    const chunks = Array.from({ length: 100 }, () => 'x'.repeat(1_000));
    const { lines, tail } = collectLines([...chunks, '\nend\n']);
    expect(lines).toEqual(['x'.repeat(8_192), 'end']);
    expect(tail).toBe(`${'x'.repeat(1_995)}\nend`);
  });
});
