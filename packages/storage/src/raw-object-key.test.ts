import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isObjectKey,
  parseRawObjectKey,
  parseRedactedObjectKey,
  parseStreamObjectKey,
  rawObjectKey,
  redactedObjectKey,
  streamObjectKey,
  workspacePrefix,
} from './raw-object-key.ts';

const workspaceIds = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/);
const ulids = fc.stringMatching(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
const hostileStrings = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom('.', '/', '\\', '\0', '\n', 'a', '%', '~', '0') }),
  ulids.map((ulid) => `${ulid}\n`),
  ulids.map((ulid) => ulid.toLowerCase()),
);

const transcriptId = '01JABCDEFGHJKMNPQRSTVWXYZ0';

describe('rawObjectKey', () => {
  test('builds the documented key', () => {
    expect(rawObjectKey({ workspaceId: 'acme', transcriptId })).toBe(
      `workspaces/acme/transcripts/${transcriptId}.jsonl`,
    );
  });

  test('is inverted by parseRawObjectKey, is under the workspace prefix, and is a safe object key', () => {
    fc.assert(
      fc.property(workspaceIds, ulids, (workspaceId, ulid) => {
        const key = rawObjectKey({ workspaceId, transcriptId: ulid });
        expect(parseRawObjectKey(key)).toEqual({ workspaceId, transcriptId: ulid });
        expect(key.startsWith(workspacePrefix(workspaceId))).toBe(true);
        expect(isObjectKey(key)).toBe(true);
      }),
    );
  });

  test('never leaves its workspace, whatever the identifiers', () => {
    const hostile = fc.oneof(hostileStrings, workspaceIds);
    fc.assert(
      fc.property(hostile, fc.oneof(hostileStrings, ulids), (workspaceId, id) => {
        let key: string;
        try {
          key = rawObjectKey({ workspaceId, transcriptId: id });
        } catch (error) {
          expect(error).toMatchObject({ name: 'RawStoreError', code: 'invalid-key', retryable: false });
          return;
        }
        expect(posix.normalize(key)).toBe(key);
        expect(key.split('/')).toEqual(['workspaces', workspaceId, 'transcripts', `${id}.jsonl`]);
      }),
    );
  });

  test.each([
    ['lower case', transcriptId.toLowerCase()],
    ['a letter outside the alphabet', '01JABCDEFGHJKMNPQRSTVWXYZI'],
    ['a time beyond 48 bits', '81JABCDEFGHJKMNPQRSTVWXYZ0'],
    ['a missing character', transcriptId.slice(1)],
    ['a line break at the end', `${transcriptId}\n`],
  ])('refuses a transcript id with %s', (_label, id) => {
    expect(() => rawObjectKey({ workspaceId: 'acme', transcriptId: id })).toThrow('not a ULID');
  });
});

describe('parseRawObjectKey', () => {
  test('accepts only keys that rawObjectKey builds', () => {
    const nearKeys = fc
      .tuple(workspaceIds, ulids, hostileStrings, fc.nat())
      .map(([workspaceId, ulid, insertion, position]) => {
        const key = rawObjectKey({ workspaceId, transcriptId: ulid });
        const at = position % (key.length + 1);
        return key.slice(0, at) + insertion + key.slice(at);
      });
    fc.assert(
      fc.property(fc.oneof(nearKeys, hostileStrings), (key) => {
        const parts = parseRawObjectKey(key);
        if (parts) expect(rawObjectKey(parts)).toBe(key);
      }),
    );
    expect(parseRawObjectKey(`workspaces/acme/transcripts/${transcriptId}.json`)).toBeUndefined();
    expect(parseRawObjectKey(`x/workspaces/acme/transcripts/${transcriptId}.jsonl`)).toBeUndefined();
  });
});

describe('isObjectKey', () => {
  test('holds only for paths that stay below their root', () => {
    fc.assert(
      fc.property(hostileStrings, (key) => {
        if (!isObjectKey(key)) return;
        expect(posix.join('/root', key)).toBe(`/root/${key}`);
        expect(key.split('/').some((segment) => segment.startsWith('.'))).toBe(false);
      }),
    );
  });
});

describe('redactedObjectKey', () => {
  test('is inverted by parseRedactedObjectKey alone, is under the workspace prefix, and is a safe object key', () => {
    fc.assert(
      fc.property(workspaceIds, ulids, ulids, (workspaceId, ulid, copyId) => {
        const key = redactedObjectKey({ workspaceId, transcriptId: ulid, copyId });
        expect(parseRedactedObjectKey(key)).toEqual({ workspaceId, transcriptId: ulid });
        expect(parseRawObjectKey(key)).toBeUndefined();
        expect(parseRedactedObjectKey(rawObjectKey({ workspaceId, transcriptId: ulid }))).toBeUndefined();
        expect(key.startsWith(workspacePrefix(workspaceId))).toBe(true);
        expect(isObjectKey(key)).toBe(true);
      }),
    );
  });

  test.each(['../x', '', transcriptId.toLowerCase(), `${transcriptId}\n`])('refuses the id %j', (id) => {
    expect(() => redactedObjectKey({ workspaceId: 'acme', transcriptId: id, copyId: transcriptId })).toThrow();
    expect(() => redactedObjectKey({ workspaceId: 'acme', transcriptId, copyId: id })).toThrow();
  });
});

describe('streamObjectKey', () => {
  test('is inverted by parseStreamObjectKey alone, and is under the workspace prefix', () => {
    fc.assert(
      fc.property(workspaceIds, ulids, (workspaceId, ulid) => {
        const key = streamObjectKey({ workspaceId, streamId: ulid });
        expect(parseStreamObjectKey(key)).toEqual({ workspaceId, streamId: ulid });
        expect(key.startsWith(workspacePrefix(workspaceId))).toBe(true);
        expect(parseRawObjectKey(key)).toBeUndefined();
        expect(parseStreamObjectKey(rawObjectKey({ workspaceId, transcriptId: ulid }))).toBeUndefined();
      }),
    );
  });
});
