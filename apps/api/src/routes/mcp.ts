import type { Problem } from '@recount/contract';
import type { FastifyRequest } from 'fastify';
import type { ApiApp } from '../api-dependencies.ts';
import type { AskApi } from '../mcp/create-mcp-server.ts';
import { addJsonRoutes } from '../plugins/json-bodies.ts';

/** Answers have 50,000 characters of text, from pages of this length. */
const MAX_PAGE_BYTES = 1024 * 1024;

/** Each tool calls routes with the client's key, and they reveal what it may see. */
const MCP = { config: { scope: 'read', reveals: 'nothing' }, schema: { hide: true } } as const;

/** The largest JSON-RPC request; the tools limit their answers. */
const MAX_BODY_BYTES = 256 * 1024;

/**
 * The tools of `recount mcp` over streamable HTTP, without sessions, because each request is self-contained. They call
 * this API's own routes with the request's key, so they see what it may see.
 */
export async function addMcpRoutes(parent: ApiApp): Promise<void> {
  await addJsonRoutes(parent, { maxBytes: MAX_BODY_BYTES }, (app) => {
    app.post('/mcp', MCP, async (request, reply) => {
      const response = await answerMcp(createAsk(parent, request), request);
      const type = response.headers.get('content-type');
      if (type !== null) reply.type(type);
      return await reply.code(response.status).send(await response.text());
    });
  });
}

/** Calls this API's routes with the rights of the request's client. */
function createAsk(app: ApiApp, { headers, ip }: FastifyRequest): AskApi {
  return async (path, query) => {
    const parameters = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [value].flat().map((each) => [name, String(each)]),
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

/** The first request loads the protocol with its schemas, which take memory. */
async function answerMcp(ask: AskApi, request: FastifyRequest): Promise<Response> {
  const [{ createMcpServer }, { WebStandardStreamableHTTPServerTransport }] = await Promise.all([
    import('../mcp/create-mcp-server.ts'),
    import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'),
  ]);
  const server = createMcpServer(ask, { maxPageBytes: MAX_PAGE_BYTES });
  // Without a session id generator, nothing stays between requests.
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  try {
    await server.connect(transport);
    const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
      typeof value === 'string' ? [[name, value]] : [],
    );
    const received = new Request('http://recount.invalid/mcp', { method: 'POST', headers });
    const response = await transport.handleRequest(received, { parsedBody: request.body });
    // Read before the server closes, because it still has the running answers.
    return new Response(await response.text(), { status: response.status, headers: response.headers });
  } finally {
    await server.close();
  }
}
