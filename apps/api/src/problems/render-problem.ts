import { PROBLEMS, type Problem, toProblemType } from '@recount/contract';
import type { ProblemError } from './problem-error.ts';

/** The application/problem+json document of a problem. */
export function renderProblem(problem: ProblemError, requestId: string): Problem {
  const { status, title } = PROBLEMS[problem.slug];
  return {
    type: toProblemType(problem.slug),
    title,
    status,
    detail: problem.message,
    request_id: requestId,
    ...problem.extensions,
  };
}
