import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { Problem } from '@recount/contract';
import type { FastifyRequest } from 'fastify';
import type { ApiApp } from '../api-dependencies.ts';
import { acceptJsonBodies } from '../http/json-bodies.ts';
import { type AskApi, createMcpServer } from '../mcp/create-mcp-server.ts';

/** The largest JSON-RPC request; the tools bound their answers. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * The tools of `recount mcp` over streamable HTTP, without sessions: each request has all that it takes. They ask this API's own
 * routes with the key of the request, so they see what it sees.
 */
export async function addMcpRoutes(parent: ApiApp): Promise<void> {
  await parent.register(async (scope) => {
    const app = scope as ApiApp;
    acceptJsonBodies(app, MAX_BODY_BYTES);
    app.post('/mcp', { config: { scope: 'read' }, schema: { hide: true } }, async (request, reply) => {
      const response = await answerMcp(createAsk(parent, request), request);
      const type = response.headers.get('content-type');
      if (type !== null) reply.type(type);
      return await reply.code(response.status).send(await response.text());
    });
  });
}

/** Asks this API's routes as the client of the request may. */
function createAsk(app: ApiApp, { headers, ip }: FastifyRequest): AskApi {
  return async (path, query) => {
    const parameters = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const answer = await app.inject({
      url: `${path}?${new URLSearchParams(parameters)}`,
      headers: { authorization: headers.authorization ?? '' },
      remoteAddress: ip,
    });
    if (answer.statusCode === 200) return answer.json();
    if (answer.statusCode === 404) return undefined;
    const { title, detail, errors = [] } = answer.json<Problem>();
    throw new Error(`${title}: ${detail}${errors.map(({ field, message }) => `; ${field}: ${message}`).join('')}`);
  };
}

async function answerMcp(ask: AskApi, request: FastifyRequest): Promise<Response> {
  const server = createMcpServer(ask);
  // No session id generator: nothing is kept between requests.
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    );
    const received = new Request('http://recount.invalid/mcp', { method: 'POST', headers });
    const response = await transport.handleRequest(received, { parsedBody: request.body });
    // Read before the server closes: it has the answers that are under way.
    return new Response(await response.text(), { status: response.status, headers: response.headers });
  } finally {
    await server.close();
  }
}
