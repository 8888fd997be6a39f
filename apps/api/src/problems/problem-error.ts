import { type FieldError, type FileResult, PROBLEMS, type ProblemSlug, type Readiness } from '@recount/contract';

export interface ProblemOptions {
  headers?: Record<string, string>;
  /** Members of the answer beyond those of every problem. */
  extensions?: {
    errors?: FieldError[];
    candidates?: string[];
    results?: FileResult[];
    checks?: Readiness['checks'];
    space?: Readiness['space'];
  };
  cause?: unknown;
}

/** Ends a request with an application/problem+json answer. `detail` is for the client: nothing private goes into it. */
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
