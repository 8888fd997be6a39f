import { Command } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import type { CliContext } from '../terminal/cli-context.ts';

export function createMcpCommand(context: CliContext): Command {
  return addPlaceOptions(
    new Command('mcp').description('Let coding agents query recorded sessions, with an MCP server on stdin and stdout'),
  )
    .addHelpText(
      'after',
      `
Read-only tools: search_sessions, list_sessions, get_session_overview, get_messages, search_content, get_usage_summary.
The API key needs the scope read. A server has the same at /mcp, with the key as a bearer token.

Examples:
  $ claude mcp add recount -- npx -y recount mcp
  $ claude mcp add --transport http recount https://recount.example.com/mcp --header "Authorization: Bearer rk_…"`,
    )
    .action((options: PlaceOptions) => serve(context, options));
}

async function serve(context: CliContext, options: PlaceOptions): Promise<void> {
  const [{ createMcpServer }, { StdioServerTransport }] = await Promise.all([
    import('@recount/api/mcp'),
    import('@modelcontextprotocol/sdk/server/stdio.js'),
  ]);
  const signal = context.listenForInterruption();
  await withClient(context, options, async (client) => {
    const server = createMcpServer((path, query) => client.request(path, { query }));
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    context.stdin.once('end', resolve).once('close', resolve);
    signal.addEventListener('abort', () => resolve());
    await server.connect(new StdioServerTransport(context.stdin, process.stdout));
    await closed;
    await server.close();
  });
}
