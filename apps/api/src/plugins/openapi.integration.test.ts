import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestApi, type TestApi } from '../testing/test-api.ts';

interface Schema {
  [key: string]: unknown;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}
interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  security?: object[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}
interface Document {
  openapi: string;
  info: { title: string; version: string };
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, unknown> };
}

let api: TestApi;
let document: Document;
let operations: [string, Operation][];

beforeAll(async () => {
  api = await createTestApi();
  document = (await (await fetch(`${api.url}/openapi.json`)).json()) as Document;
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method} ${path}`, operation]),
  );
});
afterAll(() => api.close());

function* visit(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const child of Object.values(value)) yield* visit(child);
}

describe('/openapi.json', () => {
  it('is OpenAPI 3.1 and contains every route except the pages', () => {
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'recount', version: '0.3.0' } });
    expect(operations.map(([name]) => name).sort()).toEqual([
      'delete /v1/bills',
      'delete /v1/budgets/{budget_id}',
      'delete /v1/demo',
      'delete /v1/destinations/{destination_id}',
      'delete /v1/digests/{digest_id}',
      'delete /v1/findings/addressed/{kind}',
      'delete /v1/findings/dismissals/{dismissal_id}',
      'delete /v1/keys/{key_id}',
      'delete /v1/keys/{key_id}/sign-in-link',
      'delete /v1/people/{person_id}',
      'delete /v1/people/{person_id}/merge',
      'delete /v1/prices/reprice',
      'delete /v1/repository-renames/{rename_id}',
      'delete /v1/sessions/{session_id}',
      'delete /v1/shares/{share_id}',
      'delete /v1/sign-ins/{sign_in_id}',
      'delete /v1/teams/{team_id}',
      'delete /v1/transcripts/{transcript_id}',
      'get /healthz',
      'get /readyz',
      'get /shared/{token}',
      'get /v1/analytics/addressed',
      'get /v1/analytics/api-errors',
      'get /v1/analytics/bills',
      'get /v1/analytics/blocks',
      'get /v1/analytics/changes',
      'get /v1/analytics/compactions',
      'get /v1/analytics/disagreements',
      'get /v1/analytics/files',
      'get /v1/analytics/findings',
      'get /v1/analytics/forecast',
      'get /v1/analytics/mcp-servers',
      'get /v1/analytics/model-choice',
      'get /v1/analytics/models',
      'get /v1/analytics/permission-denials',
      'get /v1/analytics/plans',
      'get /v1/analytics/programs',
      'get /v1/analytics/pull-requests',
      'get /v1/analytics/reconciliation',
      'get /v1/analytics/sessions',
      'get /v1/analytics/skills',
      'get /v1/analytics/subagents',
      'get /v1/analytics/telemetry',
      'get /v1/analytics/tools',
      'get /v1/analytics/usage',
      'get /v1/analytics/waste',
      'get /v1/audit',
      'get /v1/bills',
      'get /v1/budgets',
      'get /v1/budgets/{budget_id}',
      'get /v1/budgets/{budget_id}/history',
      'get /v1/checks',
      'get /v1/deliveries',
      'get /v1/destinations',
      'get /v1/digests',
      'get /v1/digests/{digest_id}/preview',
      'get /v1/disk',
      'get /v1/export/messages',
      'get /v1/export/sessions',
      'get /v1/export/usage',
      'get /v1/findings/dismissals',
      'get /v1/ingestion',
      'get /v1/key',
      'get /v1/keys',
      'get /v1/live',
      'get /v1/live/events',
      'get /v1/notices',
      'get /v1/people',
      'get /v1/people/export',
      'get /v1/people/unattributed',
      'get /v1/plans',
      'get /v1/prices',
      'get /v1/prices/reprice',
      'get /v1/repositories',
      'get /v1/repository-renames',
      'get /v1/search',
      'get /v1/session-tags',
      'get /v1/sessions',
      'get /v1/sessions/{session_id}',
      'get /v1/sessions/{session_id}/attachments',
      'get /v1/sessions/{session_id}/attachments/{attachment_id}',
      'get /v1/sessions/{session_id}/changes',
      'get /v1/sessions/{session_id}/checkpoints',
      'get /v1/sessions/{session_id}/costs',
      'get /v1/sessions/{session_id}/document',
      'get /v1/sessions/{session_id}/events',
      'get /v1/sessions/{session_id}/messages',
      'get /v1/sessions/{session_id}/outline',
      'get /v1/sessions/{session_id}/subagents',
      'get /v1/settings',
      'get /v1/shares',
      'get /v1/sign-in/providers',
      'get /v1/sign-ins',
      'get /v1/teams',
      'get /v1/transcripts',
      'get /v1/transcripts/{transcript_id}',
      'get /v1/transcripts/{transcript_id}/issues',
      'get /v1/transcripts/{transcript_id}/lines/{byte_offset}',
      'get /v1/transcripts/{transcript_id}/raw',
      'get /v1/whoami',
      'get /v1/workspaces',
      'head /v1/sessions/{session_id}/live',
      'head /v1/transcripts/{transcript_id}/raw',
      'patch /v1/budgets/{budget_id}',
      'patch /v1/digests/{digest_id}',
      'patch /v1/people/{person_id}',
      'patch /v1/sessions/{session_id}',
      'patch /v1/teams/{team_id}',
      'patch /v1/transcripts/{transcript_id}',
      'post /v1/bills',
      'post /v1/budgets',
      'post /v1/checks',
      'post /v1/deliveries/{delivery_id}/retry',
      'post /v1/demo',
      'post /v1/destinations',
      'post /v1/destinations/{destination_id}/test',
      'post /v1/device/approve',
      'post /v1/device/code',
      'post /v1/device/enrol',
      'post /v1/device/token',
      'post /v1/digests',
      'post /v1/digests/{digest_id}/send',
      'post /v1/findings/dismissals',
      'post /v1/keys',
      'post /v1/keys/{key_id}/restore',
      'post /v1/keys/{key_id}/rotate',
      'post /v1/keys/{key_id}/sign-in-link',
      'post /v1/otlp/v1/logs',
      'post /v1/otlp/v1/metrics',
      'post /v1/otlp/v1/traces',
      'post /v1/people',
      'post /v1/people/import',
      'post /v1/prices/reprice',
      'post /v1/repository-renames',
      'post /v1/sessions/{session_id}/live',
      'post /v1/sessions/{session_id}/share',
      'post /v1/shares',
      'post /v1/sign-in',
      'post /v1/sign-in/link',
      'post /v1/sign-in/providers/{provider_id}',
      'post /v1/sign-in/response',
      'post /v1/sign-out',
      'post /v1/teams',
      'post /v1/transcripts',
      'post /v1/transcripts/{transcript_id}/reparse',
      'post /v1/workspaces',
      'put /v1/findings/addressed/{kind}',
      'put /v1/people/{person_id}/merge',
      'put /v1/plans',
      'put /v1/prices',
      'put /v1/sessions/{session_id}/attachments',
      'put /v1/settings',
      'put /v1/workspaces/{workspace_id}/name',
    ]);
  });

  it('describes every operation, parameter and response', () => {
    const ids = operations.map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(operations.length);
    const tags = document.tags.map(({ name }) => name);
    for (const [name, operation] of operations) {
      expect(operation.operationId, name).toMatch(/^[a-z][A-Za-z]+(-head)?$/);
      expect(operation.summary, name).toMatch(/\w/);
      expect(
        operation.tags?.every((tag) => tags.includes(tag)),
        name,
      ).toBe(true);
      for (const parameter of operation.parameters ?? []) {
        expect(parameter.schema, `${name} ${parameter.name}`).toBeDefined();
        if (parameter.name !== 'order') expect(parameter.description, `${name} ${parameter.name}`).toMatch(/\w/);
      }
      expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true);
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(response.description, `${name} ${status}`).not.toMatch(/^(Default Response)?$/);
        const types = Object.keys(response.content ?? {});
        // RFC 8628 defines the refusals for devices, and OTLP its own.
        const isRefusal = (name === 'post /v1/device/token' && status === '400') || name.startsWith('post /v1/otlp/');
        const mediaType = isRefusal ? 'application/json' : 'application/problem+json';
        if (Number(status) >= 400) expect(types, `${name} ${status}`).toEqual([mediaType]);
      }
      const [, path = ''] = name.split(' ');
      const inPath = operation.parameters?.filter((parameter) => parameter.in === 'path') ?? [];
      expect(inPath.map((parameter) => `{${parameter.name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      expect(inPath.every(({ required }) => required)).toBe(true);
    }
  });

  it('names the scopes that a route needs', () => {
    const withoutKey =
      /\/(healthz|readyz|v1\/sign-in\/(link|response|providers.*)|v1\/sign-out|v1\/device\/(code|token)|shared\/\{token\})$/;
    for (const [name, { security, description, responses }] of operations) {
      if (withoutKey.test(name)) {
        expect(security).toBeUndefined();
      } else {
        expect(security, name).toEqual([{ apiKey: [] }]);
        expect(description, name).toMatch(/Scope: `(any|ingest|read|admin|enrol|operator)`/);
        expect(Object.keys(responses)).toEqual(expect.arrayContaining(['401', '403', '429', '500', '503']));
      }
    }
    expect(document.components.securitySchemes).toEqual({ apiKey: { type: 'http', scheme: 'bearer' } });
  });

  it('documents the body of an upload', () => {
    const types = Object.keys(document.paths['/v1/transcripts']?.post?.requestBody?.content ?? {});
    expect(types).toEqual([
      'application/x-ndjson',
      'application/jsonl',
      'application/octet-stream',
      'multipart/form-data',
    ]);
  });

  it('has no dangling reference and no unreferenced component', () => {
    const references = new Set<string>();
    for (const { $ref } of visit(document)) if (typeof $ref === 'string') references.add($ref);
    const schemas = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    expect([...references].sort()).toEqual(schemas.sort());
    expect(schemas).toContain('#/components/schemas/Problem');
    expect(schemas).toContain('#/components/schemas/TranscriptStatus');
  });

  it('uses JSON Schema as OpenAPI 3.1 does', () => {
    const known = /^(null|boolean|object|array|number|integer|string)$/;
    for (const schema of [
      ...Object.values(document.components.schemas),
      ...operations.map(([, operation]) => operation),
    ]) {
      for (const node of visit(schema)) {
        expect(node).not.toHaveProperty('nullable');
        expect(node).not.toHaveProperty('$schema');
        expect(node.additionalProperties).not.toBe(false);
        if (typeof node.type === 'string' && !('in' in node)) expect(node.type).toMatch(known);
        if (Array.isArray(node.required) && node.properties) {
          expect(Object.keys(node.properties)).toEqual(expect.arrayContaining(node.required));
        }
      }
    }
  });
});

describe('/docs', () => {
  it('are pages that load nothing from other hosts, and that the content security policy allows', async () => {
    const page = await fetch(`${api.url}/docs/`);
    const html = await page.text();
    expect(html).toContain('<title>recount API</title>');
    expect(html).toContain('swagger-ui');
    expect(html).not.toMatch(/https?:\/\//);
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("connect-src 'self'");
    const files = [...html.matchAll(/(?:src|href)="(\.\/[^"]+)"/g)].map((match) => match[1] ?? '');
    expect(files).toHaveLength(3);
    expect(html).toContain('<link rel="icon" type="image/svg+xml" href="../favicon.svg">');
    for (const file of files) expect((await fetch(new URL(file, `${api.url}/docs/`))).status).toBe(200);
    expect((await fetch(`${api.url}/docs`)).url).toBe(`${api.url}/docs/`);
  });

  it.each(['/docs/../v1/sessions', '/docs/%2e%2e/healthz', 'http://elsewhere/docs/../v1/settings'])(
    'serve nothing else: %s is not found',
    async (path) => {
      // Not with fetch, which would resolve the dots.
      const status = await new Promise((resolve, reject) => {
        const sent = request(api.url, { path, timeout: 120_000 }, (response) => resolve(response.resume().statusCode));
        sent.on('error', reject).on('timeout', () => sent.destroy(new Error('No answer')));
        sent.end();
      });
      expect(status).toBe(404);
    },
  );
});
