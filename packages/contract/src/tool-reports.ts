import { z } from 'zod';
import { groupByField } from './analytics-query.ts';
import { countField } from './fields.ts';
import { CALL_KEYS, groupFields, milliseconds, name, querySchema, ratio, reportSchema } from './report-shape.ts';

const callFields = {
  calls: countField,
  sessions: countField.describe('Sessions that own such a call; in totals each once'),
  results: countField.describe('Calls that have a result'),
  errors: countField.describe('Calls whose result is a failure'),
  error_rate: ratio.describe('`errors` / `results`; null without results'),
  denied: countField.describe('Refused by the user, a rule or a hook'),
  output_bytes: countField.describe('Bytes of the results’ texts'),
  estimated_tokens: countField.describe('Estimate of what the results added to the context (a quarter of their bytes)'),
};

const durationFields = {
  duration_p50_ms: milliseconds.describe('From the tool use to its result; null if none is timed'),
  duration_p95_ms: milliseconds,
};

export const toolsReportQuerySchema = querySchema({
  group_by: groupByField(CALL_KEYS, ['tool']),
  percentiles: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true')
    .describe('Whether durations are looked up, which takes as long again as the rest; without, they are null'),
});

export const toolsReportSchema = reportSchema(
  'Tools',
  'Tool calls, each once however many transcripts hold a copy; most calls first',
  {
    ...groupFields,
    ...callFields,
    input_bytes: countField,
    duration_mean_ms: milliseconds,
    timed_calls: countField,
    ...durationFields,
  },
  {
    ...callFields,
    input_bytes: countField,
    duration_mean_ms: milliseconds,
    timed_calls: countField,
    ...durationFields,
  },
);

export const filesReportQuerySchema = querySchema({
  sort: z.enum(['calls', 'reads', 'edits']).default('calls').describe('What there is most of comes first'),
});

const fileFields = {
  calls: countField,
  reads: countField,
  edits: countField.describe('Edits and writes that did not fail'),
  errors: countField,
  sessions: callFields.sessions,
  output_bytes: countField,
  estimated_tokens: callFields.estimated_tokens,
};

export const filesReportSchema = reportSchema(
  'Files',
  'Files that tools read and edited',
  { file_path: z.string(), project: name, ...fileFields },
  { files: countField, ...fileFields },
);

export const programsReportQuerySchema = querySchema({});

export const programsReportSchema = reportSchema(
  'Programs',
  'Shell commands by their first program, most calls first',
  { program: z.string(), ...callFields, ...durationFields },
  { programs: countField, ...callFields, ...durationFields },
);

export const mcpServersReportQuerySchema = querySchema({});

export const mcpServersReportSchema = reportSchema(
  'McpServers',
  'Calls to MCP servers, most calls first',
  { mcp_server: z.string(), tools: countField.describe('Different tools called'), ...callFields },
  { mcp_servers: countField, ...callFields },
);

export const skillsReportQuerySchema = querySchema({});

export const skillsReportSchema = reportSchema(
  'Skills',
  'Skills loaded, most calls first',
  { skill_name: z.string(), ...callFields },
  { skills: countField, ...callFields },
);

export const permissionDenialsReportQuerySchema = querySchema({});

const denialFields = {
  denied: countField,
  calls: countField.describe('All calls of the kind'),
  denial_rate: ratio,
  sessions: countField.describe('In which one was denied'),
};

export const permissionDenialsReportSchema = reportSchema(
  'PermissionDenials',
  'Tool calls refused by the user, a rule or a hook; most denials first',
  { tool: z.string(), program: name.describe('The program that a shell command runs'), ...denialFields },
  denialFields,
);

export type ToolsReport = z.infer<typeof toolsReportSchema>;
export type FilesReport = z.infer<typeof filesReportSchema>;
export type ProgramsReport = z.infer<typeof programsReportSchema>;
export type McpServersReport = z.infer<typeof mcpServersReportSchema>;
export type SkillsReport = z.infer<typeof skillsReportSchema>;
export type PermissionDenialsReport = z.infer<typeof permissionDenialsReportSchema>;
