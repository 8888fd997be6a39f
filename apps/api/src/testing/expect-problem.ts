import { PROBLEM_MEDIA_TYPE, type Problem, type ProblemSlug, problemSchema, toProblemType } from '@recount/contract';
import { expect } from 'vitest';

/** Asserts that the answer is this problem, as a well-formed problem document. */
export async function expectProblem(response: Response, status: number, slug: ProblemSlug): Promise<Problem> {
  const body: unknown = await response.json();
  expect({ httpStatus: response.status, ...(body as object) }).toMatchObject({
    httpStatus: status,
    status,
    type: toProblemType(slug),
    request_id: response.headers.get('x-request-id'),
  });
  expect(response.headers.get('content-type')).toContain(PROBLEM_MEDIA_TYPE);
  return problemSchema.parse(body);
}
