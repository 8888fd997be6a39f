import { z } from 'zod';

export * from './problem-types.ts';

const fieldErrorSchema = z
  .object({
    location: z.enum(['query', 'path', 'headers', 'body']),
    field: z.string().describe('Name of the parameter'),
    message: z.string(),
  })
  .meta({ id: 'FieldError', description: 'One parameter that is not valid, and why' });

export type FieldError = z.infer<typeof fieldErrorSchema>;

/** The members of RFC 9457; additions of one kind of problem are optional in all others. */
export const problemFields = {
  type: z.string().describe('Kind of problem, `urn:recount:problem:<slug>`, stable and for programs'),
  title: z.string().describe('The kind of problem in words'),
  status: z.int().describe('HTTP status'),
  detail: z.string().describe('What is wrong in this case, and what to do about it'),
  request_id: z.string().describe('Also in the header X-Request-Id and in the log of the server'),
  errors: z
    .array(fieldErrorSchema)
    .optional()
    .describe('With `invalid-request` and `unknown-name`, the parameters at fault'),
  candidates: z
    .array(z.string())
    .optional()
    .describe('With `unknown-name`, candidates, the most similar first; empty if none is similar'),
};

export const problemSchema = z
  .object(problemFields)
  .meta({ id: 'Problem', description: 'An error as in RFC 9457 (application/problem+json)' });

export type Problem = z.infer<typeof problemSchema>;
