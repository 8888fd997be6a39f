import { CALL_KEYS } from '../choices.ts';
import { callFigures, durationFigures, figure, resultFigures, sessionsOfCalls } from './page-figures.ts';
import { callColumns, count, durationColumns, outputColumns, ratio, text } from './report-columns.ts';
import { defineReport } from './report-entry.ts';

const FILE_ORDERS = ['calls', 'reads', 'edits'] as const;
const sessions = count('SESSIONS', 'sessions', 1);

/** Reports on calls of tools. */
export const TOOL_REPORTS = {
  tools: defineReport({
    description: 'Tool calls, each once however many transcripts hold a copy; most calls first',
    groupBy: { keys: CALL_KEYS, fallback: ['tool'] },
    shapes: ({ z, callFields, durationFields, countField, groupFields, milliseconds, nameFilter }) => {
      const figures = {
        ...callFields,
        input_bytes: countField,
        duration_mean_ms: milliseconds,
        timed_calls: countField,
        ...durationFields,
      };
      return {
        query: {
          tool: nameFilter.optional().describe('Only calls of this tool'),
          percentiles: z
            .enum(['true', 'false'])
            .default('true')
            .transform((value) => value === 'true')
            .describe('Whether durations are looked up, which takes as long again as the rest; without, they are null'),
        },
        row: { ...groupFields, ...figures },
        totals: figures,
      };
    },
    commands: [
      {
        name: 'tools',
        help: 'Tool calls, errors, denials, durations, sizes',
        title: 'Tool calls',
        columns: [...callColumns, ...durationColumns, ...outputColumns, sessions],
      },
    ],
    pages: [
      {
        ...{ page: 'tools', id: 'tools', label: 'Tools', noun: 'Tool', name: 'tool', filters: { tool: 'tool' } },
        query: { group_by: 'tool,tool_kind' },
        detail: 'tool_kind',
        figures: [...callFigures, ...durationFigures, ...resultFigures],
        trend: { query: { group_by: 'day', percentiles: 'false' }, figure: figure('count', 'Calls', 'calls') },
      },
    ],
  }),

  files: defineReport({
    isOfTexts: true,
    description: 'Files that tools read and edited',
    shapes: ({ z, callFields, countField, name }) => {
      const figures = {
        calls: countField,
        reads: countField,
        edits: countField.describe('Edits and writes that did not fail'),
        errors: countField,
        sessions: callFields.sessions,
        output_bytes: countField,
        estimated_tokens: callFields.estimated_tokens,
      };
      return {
        query: { sort: z.enum(FILE_ORDERS).default('calls').describe('What there is most of comes first') },
        row: { file_path: z.string(), project: name, ...figures },
        totals: { files: countField, ...figures },
      };
    },
    commands: [
      {
        name: 'files',
        help: 'Files read and edited most',
        title: 'Files',
        columns: [
          { ...text('FILE', 'file_path'), format: 'path', minWidth: 24 },
          count('READS', 'reads'),
          count('EDITS', 'edits'),
          count('ERRORS', 'errors', 3),
          count('SESSIONS', 'sessions', 4),
          ...outputColumns,
          text('PROJECT', 'project', 1),
        ],
        options: [{ flags: '--sort <figure>', help: 'sort by (descending)', choices: FILE_ORDERS }],
      },
    ],
    pages: [
      {
        ...{ page: 'files', id: 'files', label: 'Files', noun: 'File', name: 'file_path', shortens: 'path' },
        detail: 'project',
        filters: { file: 'file_path', project: 'project' },
        figures: [
          figure('count', 'Calls', 'calls'),
          figure('count', 'Reads', 'reads'),
          figure('count', 'Edits', 'edits'),
          figure('count', 'Failed', 'errors'),
          sessionsOfCalls,
          ...resultFigures,
        ],
      },
    ],
  }),

  programs: defineReport({
    description: 'Shell commands by their first program, most calls first',
    shapes: ({ z, callFields, countField, durationFields }) => ({
      row: { program: z.string(), ...callFields, ...durationFields },
      totals: { programs: countField, ...callFields, ...durationFields },
    }),
    commands: [
      {
        name: 'programs',
        help: 'Shell commands by program',
        title: 'Shell commands by program',
        columns: [text('PROGRAM', 'program'), ...callColumns, ...durationColumns, ...outputColumns],
      },
    ],
    pages: [
      {
        ...{ page: 'tools', id: 'programs', label: 'Shell commands', noun: 'Program', name: 'program' },
        filters: { program: 'program' },
        figures: [...callFigures, ...durationFigures, ...resultFigures],
      },
    ],
  }),

  'mcp-servers': defineReport({
    description: 'Calls to MCP servers, most calls first',
    shapes: ({ z, callFields, countField }) => ({
      row: { mcp_server: z.string(), tools: countField.describe('Different tools called'), ...callFields },
      totals: { mcp_servers: countField, ...callFields },
    }),
    commands: [
      {
        name: 'mcp',
        help: 'Calls to MCP servers',
        title: 'MCP servers',
        columns: [
          text('SERVER', 'mcp_server'),
          { ...count('TOOLS', 'tools', 5), isOfRowsOnly: true },
          ...callColumns,
          ...outputColumns,
          sessions,
        ],
      },
    ],
    pages: [
      {
        ...{ page: 'tools', id: 'mcp', label: 'MCP servers', noun: 'Server', name: 'mcp_server' },
        filters: { mcp_server: 'mcp_server' },
        figures: [{ ...figure('count', 'Tools', 'tools'), isOfRowsOnly: true }, ...callFigures, ...resultFigures],
      },
    ],
  }),

  skills: defineReport({
    description: 'Skills loaded, most calls first',
    shapes: ({ z, callFields, countField }) => ({
      row: { skill_name: z.string(), ...callFields },
      totals: { skills: countField, ...callFields },
    }),
    commands: [
      {
        name: 'skills',
        help: 'Skills that were loaded',
        title: 'Skills',
        columns: [text('SKILL', 'skill_name'), ...callColumns, ...outputColumns, sessions],
      },
    ],
    pages: [
      {
        ...{ page: 'tools', id: 'skills', label: 'Skills', noun: 'Skill', name: 'skill_name' },
        filters: { skill: 'skill_name' },
        figures: [...callFigures, ...resultFigures],
      },
    ],
  }),

  'permission-denials': defineReport({
    description: 'Tool calls refused by the user, a rule or a hook; most denials first',
    shapes: ({ z, countField, name, ratio: rate }) => {
      const figures = {
        denied: countField,
        calls: countField.describe('All calls of the kind'),
        denial_rate: rate,
        sessions: countField.describe('Sessions with a denied call'),
      };
      return {
        row: { tool: z.string(), program: name.describe('The program that a shell command runs'), ...figures },
        totals: figures,
      };
    },
    commands: [
      {
        name: 'denials',
        help: 'Denied tool calls',
        title: 'Denied tool calls',
        columns: [
          text('TOOL', 'tool'),
          text('PROGRAM', 'program', 2),
          count('DENIED', 'denied'),
          count('CALLS', 'calls'),
          ratio('RATE', 'denial_rate'),
          sessions,
        ],
      },
    ],
    pages: [
      {
        ...{ page: 'tools', id: 'refused', label: 'Denied', noun: 'Tool', name: 'tool' },
        detail: 'program',
        filters: { tool: 'tool', program: 'program' },
        figures: [
          figure('count', 'Denied', 'denied'),
          figure('count', 'Calls', 'calls'),
          figure('percent', 'Rate', 'denial_rate'),
          sessionsOfCalls,
        ],
      },
    ],
  }),
};
