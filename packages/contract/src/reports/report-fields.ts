import { KINDS_OF_WORK, TOOL_KINDS } from '@recount/core';
import { z } from 'zod';
import { countField, text, timestampField } from '../fields.ts';
import { costField, titleField } from '../usage-figures.ts';

// Fields for the shapes in the entries of reports.

export { z } from 'zod';
export { reportMomentField } from '../analytics-query.ts';
export { countField, sessionIdField, timestampField, transcriptIdField, uploaderField } from '../fields.ts';
export { addressedFields } from '../finding-decisions.ts';
export {
  costField,
  knownCostField,
  ownAndSharedUsageFields,
  titleField,
  usageFiguresSchema,
} from '../usage-figures.ts';

const MAX_NAME_LENGTH = 1000;

export const name = z.string().nullable();
/** A full name to filter by. */
export const nameFilter = text(MAX_NAME_LENGTH);
export const ratio = z.number().min(0).max(1).nullable();
export const milliseconds = z.number().min(0).nullable();

/** The subject of a row, with exactly the keys of `group_by`. */
export const groupFields = {
  hour: name.optional().describe('Its beginning in the time zone, with the offset: `2026-03-29T03:00:00+02:00`'),
  day: name.optional().describe('Date in the time zone; null, as in all times, for what has no timestamp'),
  week: name.optional().describe('Date of its Monday'),
  month: name.optional().describe('`2026-03`'),
  model: name.optional(),
  repository: name.optional().describe('The same name for all worktrees and clones'),
  project: name.optional(),
  git_branch: name.optional(),
  agent: name.optional(),
  agent_version: name.optional(),
  person: name.optional().describe('Who has the name of the session, else that name'),
  team: name.optional().describe('Team of that person on that day (UTC); null for none'),
  cost_centre: name.optional().describe('Of that person on that day, else of the team; null for none'),
  machine: name.optional(),
  kind_of_work: name.optional().describe(`What the turn was for, by its tool calls: ${KINDS_OF_WORK.join(', ')}`),
  session: z.string().optional().describe('Session id; with it come the three below'),
  session_title: titleField.nullable().optional(),
  session_start: timestampField.nullable().optional(),
  is_subagent: z.boolean().optional(),
  tool: z.string().optional(),
  tool_kind: z
    .string()
    .optional()
    .describe(`What the tool does, whatever its agent calls it: ${TOOL_KINDS.join(', ')}`),
};

/** Responses whose copies disagree. */
export const disagreementFields = {
  responses: countField,
  cost_usd: costField.describe('What they are counted with'),
  lowest_cost_usd: costField.describe('By the cheapest copy of each'),
  highest_cost_usd: costField.describe('By the most expensive copy of each'),
};

/** One count in every report of usage; see docs/accuracy.md. */
export const sessionCountField = countField.describe(
  'Sessions that contain a response, own or shared; in totals each once',
);

export const callFields = {
  calls: countField,
  sessions: countField.describe('Sessions that own such a call; in totals each once'),
  results: countField.describe('Calls that have a result'),
  errors: countField.describe('Calls whose result is a failure'),
  error_rate: ratio.describe('`errors` / `results`; null without results'),
  denied: countField.describe('Refused by the user, a rule or a hook'),
  output_bytes: countField.describe('Bytes of the results’ texts'),
  estimated_tokens: countField.describe('Estimate of what the results added to the context (a quarter of their bytes)'),
};

export const durationFields = {
  duration_p50_ms: milliseconds.describe('From the tool use to its result; null if none is timed'),
  duration_p95_ms: milliseconds,
};
