import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { PROBLEM_MEDIA_TYPE, problemSchema } from '@recount/contract';
import type { FastifyReply } from 'fastify';
import type { ZodType } from 'zod';
import type { ApiApp } from '../api-dependencies.ts';
import { DOCS_CONTENT_SECURITY_POLICY } from './security-headers.ts';

/** Documents an answer that is not JSON. */
export const toResponse = (description: string, mediaType: string, schema: ZodType) => ({
  description,
  content: { [mediaType]: { schema } },
});

/** Documents a problem. */
export const problemResponse = (description: string, schema: ZodType = problemSchema) =>
  toResponse(description, PROBLEM_MEDIA_TYPE, schema);

const DOCUMENT = new URL('../../openapi.json', import.meta.url);

/** Uses the dashboard's icon. */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>recount API</title>
<link rel="stylesheet" href="./swagger-ui.css">
<link rel="icon" type="image/svg+xml" href="../favicon.svg">
</head>
<body>
<div id="swagger-ui"></div>
<script src="./swagger-ui-bundle.js"></script>
<script src="./start.js"></script>
</body>
</html>
`;

const START_SCRIPT = `SwaggerUIBundle({ url: '../openapi.json', dom_id: '#swagger-ui', deepLinking: true, tryItOutEnabled: true });
`;

/** The place of the files in the npm package; a checkout uses the files of `@fastify/swagger-ui`. */
const PACKAGED_FILES = new URL('../../swagger-ui/', import.meta.url);

/** The files of `@fastify/swagger-ui` that the page needs. */
const FILES = {
  'swagger-ui.css': 'text/css',
  'swagger-ui-bundle.js': 'text/javascript',
} as const;

/**
 * Serves /openapi.json, which the test of openapi-document.ts keeps up to date, and pages at /docs, which load nothing
 * from other servers.
 */
export function addOpenapi(app: ApiApp): void {
  const toPath = existsSync(PACKAGED_FILES)
    ? (name: string) => new URL(name, PACKAGED_FILES)
    : (name: string) => createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`);
  const sendPage = (reply: FastifyReply, mediaType: string, content: string | Buffer): FastifyReply =>
    reply
      .header('content-security-policy', DOCS_CONTENT_SECURITY_POLICY)
      .type(`${mediaType}; charset=utf-8`)
      .send(content);
  const options = { config: { reveals: 'nothing' as const }, schema: { hide: true } };
  app.get('/openapi.json', options, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(await readFile(DOCUMENT)),
  );
  app.get('/docs', options, (_request, reply) => reply.redirect('docs/'));
  app.get('/docs/', options, (_request, reply) => sendPage(reply, 'text/html', PAGE));
  app.get('/docs/start.js', options, (_request, reply) => sendPage(reply, 'text/javascript', START_SCRIPT));
  for (const [name, mediaType] of Object.entries(FILES)) {
    app.get(`/docs/${name}`, options, async (_request, reply) =>
      sendPage(reply, mediaType, await readFile(toPath(name))),
    );
  }
}
