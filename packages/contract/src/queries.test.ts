import { describe, expect, it } from 'vitest';
import { liveParamsSchema } from './live.ts';
import { messageListQuerySchema } from './messages.ts';
import { sessionListQuerySchema, sessionParamsSchema } from './sessions.ts';
import { transcriptLineParamsSchema, transcriptListQuerySchema } from './transcripts.ts';

describe('liveParamsSchema', () => {
  it.each(['.', '..', 'a\nb', 'a\u0085b'])('refuses %j, under which no transcript could be stored', (id) => {
    expect(liveParamsSchema.safeParse({ session_id: id }).success).toBe(false);
    // One that an older version accepted can still be read and deleted.
    expect(sessionParamsSchema.safeParse({ session_id: id }).success).toBe(true);
  });

  it.each(['...', '.a', 'a/b', 'é'])('takes %j', (id) => {
    expect(liveParamsSchema.parse({ session_id: id })).toEqual({ session_id: id });
  });
});

describe('sessionListQuerySchema', () => {
  it('fills in defaults', () => {
    expect(sessionListQuerySchema.parse({})).toEqual({
      sort: 'last_timestamp',
      order: 'desc',
      limit: 50,
      time_zone: 'UTC',
    });
  });

  it.each([['2026-01-02'], ['2026-01-02T03:04:05Z'], ['2026-01-02T03:04:05.678+02:00']])('takes %s', (moment) => {
    expect(sessionListQuerySchema.parse({ from: moment, to: moment })).toMatchObject({ from: moment, to: moment });
  });

  it.each([
    { from: 'yesterday' },
    { from: '2026-13-01' },
    { from: '0000-01-01' },
    { to: '9999-12-31T23:59:59-12:00' },
    { from: '2026-01-02T03:04:05' },
    { limit: '0' },
    { limit: '501' },
    { limit: '1.5' },
    { limit: '' },
    { limit: 'NaN' },
    { cursor: 'a b' },
    { cursor: '' },
    { prompt: '' },
    { prompt: 'a\0b' },
    { is_subagent: '1' },
    { sort: 'constructor' },
    { order: 'up' },
    { projct: 'misspelt' },
    { agent: ['a', ''] },
    { agent: [] },
    { model: Array.from({ length: 101 }, (_, index) => `model-${index}`) },
    { prompt: ['a', 'b'] },
  ])('refuses %j', (query) => {
    expect(sessionListQuerySchema.safeParse(query).success).toBe(false);
  });

  it('reads flags', () => {
    expect(sessionListQuerySchema.parse({ is_subagent: 'false' }).is_subagent).toBe(false);
    expect(sessionListQuerySchema.parse({ is_subagent: 'true' }).is_subagent).toBe(true);
  });
});

describe('other requests', () => {
  it('validate the form of ids', () => {
    expect(sessionParamsSchema.safeParse({ session_id: 'a/b:c ü' }).success).toBe(true);
    expect(sessionParamsSchema.safeParse({ session_id: 'a\0' }).success).toBe(false);
    expect(messageListQuerySchema.safeParse({ transcript_id: '01jcz8q4m2v7t3n5r9w0xyabcd' }).success).toBe(false);
    expect(messageListQuerySchema.safeParse({ transcript_id: '01JCZ8Q4M2V7T3N5R9W0XYABCD' }).success).toBe(true);
  });

  it('accept one status or several', () => {
    expect(transcriptListQuerySchema.parse({ status: 'failed' }).status).toBe('failed');
    expect(transcriptListQuerySchema.parse({ status: ['failed', 'queued'] }).status).toEqual(['failed', 'queued']);
    expect(transcriptListQuerySchema.safeParse({ status: 'gone' }).success).toBe(false);
  });

  it.each(['-1', '1.5', 'x', '9007199254740993', '1e3x'])('refuse the byte offset %s', (byte_offset) => {
    const transcript_id = '01JCZ8Q4M2V7T3N5R9W0XYABCD';
    expect(transcriptLineParamsSchema.safeParse({ transcript_id, byte_offset }).success).toBe(false);
    expect(transcriptLineParamsSchema.parse({ transcript_id, byte_offset: '0' }).byte_offset).toBe(0);
  });
});
