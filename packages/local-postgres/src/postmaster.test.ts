import { describe, expect, test } from 'vitest';
import { parsePostmasterPid } from './postmaster.ts';

const ready = '8451\n/srv/cluster/data\n1795300883\n40997\n\n127.0.0.1\n  4985212    163851\nready   \n';

describe('parsePostmasterPid', () => {
  test('reads process and port of a running server', () => {
    expect(parsePostmasterPid(ready)).toEqual({ pid: 8451, port: 40_997 });
  });

  test('reads the file of a server that is starting', () => {
    expect(parsePostmasterPid('8451\n/srv/cluster/data\n1795300883\n40997\n\n')).toEqual({ pid: 8451, port: 40_997 });
  });

  test.each([
    ['empty', ''],
    ['truncated after the process', '8451\n'],
    ['truncated after the directory', '8451\n/srv/cluster/data\n17'],
    ['of a single-user backend, which has a negative process', ready.replace('8451', '-8451')],
    ['without a number for the process', ready.replace('8451', '0x2103')],
    ['with process 0, which would address a whole process group', ready.replace('8451', '0')],
    ['with a port out of range', ready.replace('40997', '65536')],
    ['filled with NUL bytes by a crash', '\0'.repeat(80)],
  ])('finds nothing in a file %s', (_name, text) => {
    expect(parsePostmasterPid(text)).toBeUndefined();
  });
});
