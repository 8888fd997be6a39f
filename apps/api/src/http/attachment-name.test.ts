import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toAttachment } from './attachment-name.ts';

describe('toAttachment', () => {
  it.each([
    ['0b3f-11', 'attachment; filename="0b3f-11.jsonl"'],
    ['parent:agent', 'attachment; filename="parent_agent.jsonl"'],
    ['../../etc/passwd', 'attachment; filename="_.._etc_passwd.jsonl"'],
    ['..', 'attachment; filename="transcript.jsonl"'],
    ['a"; x="b\r\nset-cookie: c', 'attachment; filename="a_x_b_set-cookie_c.jsonl"'],
  ])('of %j', (name, header) => {
    expect(toAttachment(name, '.jsonl')).toBe(header);
  });

  it('is a header of one file name for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(toAttachment(name, '.jsonl')).toMatch(
          /^attachment; filename="[A-Za-z0-9_-][A-Za-z0-9._-]{0,155}\.jsonl"$/,
        );
      }),
    );
  });
});
