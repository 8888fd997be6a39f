import { describe, expect, it } from 'vitest';
import { PROBLEMS, type ProblemSlug, toProblemSlug, toProblemType } from './problem.ts';

describe('problem types', () => {
  it.each(Object.keys(PROBLEMS) as ProblemSlug[])('%s is found by its name', (slug) => {
    expect(toProblemType(slug)).toBe(`urn:recount:problem:${slug}`);
    expect(toProblemSlug(toProblemType(slug))).toBe(slug);
  });

  it.each(['about:blank', 'urn:recount:problem:', 'urn:recount:problem:constructor', 'not-found'])(
    '%s is unknown',
    (type) => {
      expect(toProblemSlug(type)).toBeUndefined();
    },
  );
});
