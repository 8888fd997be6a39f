import { readFile } from 'node:fs/promises';
import { EXPORT_DATASETS } from '@recount/contract';
import { PERSON_FIELDS, TEXT_FIELDS, TEXT_PARAMETERS } from '@recount/contract/access';
import { toExportColumns } from '@recount/db/export';
import { describe, expect, it } from 'vitest';

/**
 * Fields and columns that may hold any words, and are not texts: ids, names, words of recount. A new field must be here or
 * in TEXT_FIELDS. If a person or an agent chose or saw it, it is text.
 */
const OPEN_FIELDS = new Set([
  ...['id', 'session_id', 'session', 'parent_session_id', 'agent_session_id', 'agent_id', 'stream_id', 'transcript_id'],
  ...['primary_transcript_id', 'superseded_by', 'message_id', 'response_id', 'uploader_key_id', 'uploader_key_ids'],
  ...['provider_message_id', 'request_id', 'uuid', 'parent_uuid', 'sha256', 'stored_sha256', 'commit_hash', 'actor'],
  ...['next_cursor', 'transcripts_next_cursor', 'agent', 'agent_version', 'format', 'source_format', 'parser_version'],
  ...[
    'price_version',
    'price_date',
    'price_basis',
    'currency_label',
    'model',
    'models',
    'cheaper_model',
    'service_tier',
  ],
  ...['speed', 'inference_geo', 'source', 'message_type', 'role', 'stop_reason', 'trigger', 'error', 'code'],
  ...['tool', 'tool_kind', 'program', 'mcp_server', 'skill_name', 'subagent_type', 'url'],
  ...['repository', 'repository_url', 'project', 'git_branch', 'resume_command', 'failure_reason'],
  ...['field', 'value', 'message', 'candidates', 'issue_counts', 'secret_counts', 'transcripts'],
  ...[
    'hour',
    'day',
    'week',
    'month',
    'purpose',
    'since',
    'marked_by',
    'name',
    'filters',
    'time_zone',
    'from',
    'to',
    'tool_name',
  ],
  ...['team', 'cost_centre', 'kind_of_work', 'unmatched', 'plan', 'destination_ids'],
  // Fields of people and teams, for admins alone, who see all names.
  ...['email', 'names', 'notes', 'leads', 'joined_on', 'left_on', 'fields', 'created_teams'],
  ...['period_start', 'dismissed_by', 'vendor', 'first_day', 'last_day', 'new_name', 'shown_name'],
]);

/** Query parameters that may hold any words, and are not compared with texts. */
const OPEN_PARAMETERS = new Set([
  ...['agent', 'repository', 'project', 'git_branch', 'branch', 'machine', 'person', 'model', 'session_id', 'sha256'],
  ...[
    'parent_session_id',
    'transcript_id',
    'from_message_id',
    'uploader_key_id',
    'last_event_id',
    'cursor',
    'from',
    'to',
  ],
  ...[
    'time_zone',
    'group_by',
    'breakdown',
    'tool',
    'program',
    'mcp_server',
    'skill',
    'subagent_type',
    'pull_request',
    'previous_from',
    'previous_to',
  ],
  ...['team', 'cost_centre', 'kind_of_work', 'first_day', 'last_day', 'search'],
]);

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
}

interface Operation {
  operationId: string;
  'x-reveals': string;
  parameters?: { in: string; name: string; schema: Schema }[];
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

const document = JSON.parse(await readFile(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.values(methods).map((operation) => ({ ...operation, path })),
);

/** True for a schema of any words, or of anything. */
const isOpen = ({ type, properties, anyOf, oneOf, allOf, ...schema }: Schema): boolean => {
  const types = [type].flat();
  const isLimited = schema.enum !== undefined || schema.const !== undefined || schema.format === 'date-time';
  if (types.includes('object')) return properties === undefined;
  if (types.includes('string')) return !isLimited;
  return type === undefined && !isLimited && [anyOf, oneOf, allOf].every((each) => each === undefined);
};

/** The names of all fields of a schema that may hold any words. */
function listOpenFields(schema: Schema, name = '', seen: readonly string[] = []): string[] {
  if (schema.$ref !== undefined) {
    const id = schema.$ref.split('/').at(-1) ?? '';
    return seen.includes(id) ? [] : listOpenFields(document.components.schemas[id] ?? {}, name, [...seen, id]);
  }
  const variants = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  return [
    ...variants.flatMap((each) => listOpenFields(each, name, seen)),
    ...(schema.items === undefined ? [] : listOpenFields(schema.items, name, seen)),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, each]) => listOpenFields(each, key, seen)),
    ...(name !== '' && schema.items === undefined && isOpen(schema) ? [name] : []),
  ];
}

const isKnown = (field: string): boolean =>
  OPEN_FIELDS.has(field) || TEXT_FIELDS.has(field) || PERSON_FIELDS.has(field);

describe('fields of answers', () => {
  it('are known to be texts or not, wherever some readers get figures only', () => {
    const unknown = operations
      .filter(({ path, 'x-reveals': reveals }) => reveals === 'figures' || (reveals === 'texts' && !path.includes('{')))
      .flatMap(({ operationId, responses }) => {
        const schema = responses['200']?.content?.['application/json']?.schema;
        const fields = schema === undefined ? [] : listOpenFields(schema).filter((field) => !isKnown(field));
        return fields.map((field) => `${field} of ${operationId}`);
      });
    expect(unknown).toEqual([]);
  });

  it('are known to be texts or not in exports', () => {
    for (const dataset of EXPORT_DATASETS) {
      for (const { name, type } of toExportColumns(dataset)) {
        if (type === 'text' || type === 'json') expect(isKnown(name), `${name} of ${dataset}`).toBe(true);
      }
    }
  });
});

describe('parameters', () => {
  it('are known to compare with texts or not', () => {
    for (const { operationId, parameters = [], 'x-reveals': reveals } of operations) {
      if (reveals === 'nothing') continue;
      for (const { in: place, name, schema } of parameters) {
        if (place !== 'query' || listOpenFields(schema, name).length === 0) continue;
        expect(OPEN_PARAMETERS.has(name) || TEXT_PARAMETERS.has(name), `${name} of ${operationId}`).toBe(true);
      }
    }
  });
});

it('has a row for every route in the table of docs/security.md', async () => {
  const text = await readFile(new URL('../../../../docs/security.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('<!-- roles -->'), text.indexOf('<!-- /roles -->'));
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect([...table.matchAll(/`([A-Z]+ [^`]+)`/g)].map(([, name]) => name).sort()).toEqual(routes.sort());
});
