import { describe, expect, it } from 'vitest';
import { identifyTranscript } from './identify-transcript.ts';
import { createTranscriptHead } from './transcript-head.ts';

const PROMPT = {
  type: 'user',
  uuid: 'u1',
  sessionId: 'heron',
  timestamp: '2026-05-30T10:00:00.000Z',
  message: { role: 'user', content: 'count the herons' },
};

const toLines = (...values: unknown[]): Buffer =>
  Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));

/** The answer is conclusive only after some 100 KB. */
const LATE = toLines(
  ...Array.from({ length: 400 }, (_, index) => ({ type: 'file-history-snapshot', note: 'x'.repeat(250), index })),
  PROMPT,
  ...Array.from({ length: 2000 }, () => PROMPT),
);

describe('createTranscriptHead', () => {
  it.each([1, 7, 64 * 1024, LATE.length])('identifies a transcript in chunks of %i bytes', (chunkBytes) => {
    const head = createTranscriptHead({ path: undefined });
    const reused = Buffer.alloc(chunkBytes);
    for (let start = 0; start < LATE.length; start += chunkBytes) {
      const chunk = reused.subarray(0, LATE.copy(reused, 0, start, start + chunkBytes));
      head.add(chunk);
      reused.fill(0);
    }
    expect(head.sessionId()).toBe('heron');
    expect(head.finish()).toEqual(identifyTranscript({ head: LATE }));
  });

  it('knows no session before the answer is conclusive', () => {
    const head = createTranscriptHead({});
    head.add(LATE.subarray(0, 20_000));
    expect(head.sessionId()).toBeUndefined();
    expect(head.finish().sessionId).toBeUndefined();
  });

  it('identifies a transcript without bytes by its path', () => {
    const head = createTranscriptHead({ path: 'projects/-home-maya/heron.jsonl' });
    expect(head.finish()).toEqual(
      identifyTranscript({ path: 'projects/-home-maya/heron.jsonl', head: Buffer.alloc(0) }),
    );
  });
});
