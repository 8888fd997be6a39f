import swagger, { type SwaggerTransform, type SwaggerTransformObject } from '@fastify/swagger';
import { type FastifySchema, fastify } from 'fastify';
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import { ZodType, ZodUndefined } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApiApp } from '../api-dependencies.ts';
import { problemResponse, toResponse } from '../plugins/openapi.ts';
import { documentOtlp } from './otlp-documentation.ts';
import { uploadRequestBody } from './upload-documentation.ts';

const DESCRIPTION = `Upload transcripts of coding agents, and read what became of them.

Every request under /v1 needs an API key: \`Authorization: Bearer rk_…\`. A key belongs to a workspace and sees nothing of
others; what it may do is its scopes: \`ingest\`, \`read\`, \`admin\` (which includes these two), and \`operator\` (names of workspaces, checks of the
installation). Instead of \`read\` a key may have \`figures\` (of everyone, without texts), \`own\` (the sessions of its owner)
or \`texts\` (each read is noted in the audit log). What an operation reveals to whom is in docs/security.md.

Errors are problem documents (RFC 9457). Lists come in pages: give \`next_cursor\` back as \`cursor\`.`;

const SECURITY_SCHEME = 'apiKey';

/**
 * Generates the OpenAPI document by adding the API's routes to an application that does not listen. The server does not
 * call this, because it serves openapi.json, which this file's test compares with the result.
 */
export async function createOpenapiDocument(addRoutes: (app: ApiApp) => Promise<void>): Promise<object> {
  const app: ApiApp = fastify().withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'recount',
        version: packageJson.version,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      tags: [
        { name: 'transcripts', description: 'Uploaded files' },
        { name: 'sessions', description: 'What the transcripts tell' },
        { name: 'analytics', description: 'Reports' },
        { name: 'budgets', description: 'Limits of what is spent, and their warnings' },
        { name: 'telemetry', description: 'What agents export by OTLP' },
        { name: 'live', description: 'What runs now' },
        { name: 'people', description: 'Who the sessions belong to, and their teams' },
        { name: 'operations', description: 'For those who run recount' },
      ],
      components: { securitySchemes: { [SECURITY_SCHEME]: { type: 'http', scheme: 'bearer' } } },
    },
    convertConstToEnum: false,
    transform: documentRoute,
    transformObject: completeDocument,
  });
  await addRoutes(app);
  await app.ready();
  return app.swagger();
}

/** Adds what follows from the route's scope, and the problems that any such route may answer with. */
const documentRoute: SwaggerTransform = (document) => {
  const { schema, route } = document;
  const { scope, reveals } = route.config ?? {};
  if (!schema || schema.hide || schema.tags === undefined) return jsonSchemaTransform(document);
  if (reveals === undefined)
    throw new Error(`${document.url} does not say what it reveals: give its config \`reveals\``);
  const described: FastifySchema & { 'x-reveals': string | undefined } = {
    ...schema,
    'x-reveals': reveals,
    ...(scope !== undefined && {
      description: `${schema.description ?? ''}\n\nScope: \`${scope}\`. Reveals: ${reveals}`.trim(),
      security: [{ [SECURITY_SCHEME]: [] }],
    }),
    response: {
      ...describeAnswers(schema.response as Record<string, unknown>),
      ...(scope !== undefined && {
        400: problemResponse('A parameter is not valid, or the body cannot be read'),
        401: problemResponse('No API key, or not a valid one'),
        403: problemResponse(`The key lacks the scope \`${scope}\``),
        429: problemResponse('Too many requests; retry after Retry-After seconds'),
        500: problemResponse('A fault of the server'),
        503: problemResponse('The database or raw store is unavailable; retry after Retry-After seconds'),
      }),
    },
  };
  return jsonSchemaTransform({ ...document, schema: described });
};

/** Moves a schema's own description to where OpenAPI has the description of an answer. */
function describeAnswers(responses: Record<string, unknown>): Record<string, unknown> {
  const described = Object.entries(responses).map(([status, schema]) => {
    const isJson = schema instanceof ZodType && !(schema instanceof ZodUndefined);
    return [status, isJson ? toResponse(schema.description ?? '', 'application/json', schema) : schema];
  });
  return Object.fromEntries(described);
}

interface CompleteDocument {
  paths: Record<string, Record<string, Record<string, unknown>>>;
  components: { schemas: Record<string, unknown> };
}

/**
 * Adds the request bodies that are no JSON, removes the second variant of each schema that requests would have, and allows unknown
 * members in answers.
 */
const completeDocument: SwaggerTransformObject = (document) => {
  const json = JSON.stringify(jsonSchemaTransformObject(document));
  const { paths, components, ...rest } = JSON.parse(json, dropClosedObjects) as CompleteDocument;
  const upload = paths['/v1/transcripts']?.post;
  if (upload !== undefined) upload.requestBody = uploadRequestBody;
  documentOtlp(paths);
  const schemas = pickReferenced(components.schemas, paths);
  return { ...rest, paths, components: { ...components, schemas } } as ReturnType<SwaggerTransformObject>;
};

function dropClosedObjects(key: string, value: unknown): unknown {
  return key === 'additionalProperties' && value === false ? undefined : value;
}

/** The schemas that `root` refers to, directly or indirectly. */
function pickReferenced(schemas: Record<string, unknown>, root: unknown): Record<string, unknown> {
  const picked = new Map<string, unknown>();
  const pick = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (picked.has(name)) continue;
      picked.set(name, schemas[name]);
      pick(schemas[name]);
    }
  };
  pick(root);
  return Object.fromEntries([...picked].sort(([a], [b]) => (a < b ? -1 : 1)));
}
