import {
  type FieldError,
  type FileResult,
  PROBLEMS,
  type Problem,
  type ProblemSlug,
  type Readiness,
  toProblemType,
} from '@recount/contract';
import { toFailureReason } from '@recount/ingest';

interface ProblemOptions {
  headers?: Record<string, string>;
  /** Additional members of the answer. */
  extensions?: {
    errors?: FieldError[];
    candidates?: string[];
    results?: FileResult[];
    checks?: Readiness['checks'];
    space?: Readiness['space'];
  };
  cause?: unknown;
}

/**
 * Ends a request with an application/problem+json answer. `detail` is sent to the client and must contain nothing
 * private.
 */
export class ProblemError extends Error {
  override name = 'ProblemError';
  readonly slug: ProblemSlug;
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly extensions: NonNullable<ProblemOptions['extensions']>;

  constructor(slug: ProblemSlug, detail: string, options: ProblemOptions = {}) {
    super(detail, { cause: options.cause });
    this.slug = slug;
    this.statusCode = PROBLEMS[slug].status;
    this.headers = options.headers ?? {};
    this.extensions = options.extensions ?? {};
  }
}

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

/**
 * An error's description for the log, never a stack, a URL, a query or its values. The framework's own errors quote
 * URLs in their messages, so only their code is logged.
 */
export function toLogReason(error: unknown): string {
  if (error instanceof Error) {
    const { code } = error as Error & { code?: unknown };
    if (typeof code === 'string' && code.startsWith('FST_')) return code;
  }
  return toFailureReason(error);
}
