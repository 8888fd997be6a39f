import { Command } from 'commander';
import type { ApiOptions } from '../connection/find-api.ts';
import type { CliContext } from '../terminal/cli-context.ts';

export function createMcpCommand(context: CliContext): Command {
  return new Command('mcp')
    .description('Let coding agents query recorded sessions, with an MCP server on stdin and stdout')
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, or the local installation')
    .option('--key <key>', 'API key with the scope read; better in RECOUNT_API_KEY')
    .option('--workspace <name>', 'workspace, with DATABASE_URL; a key has its own', 'default')
    .addHelpText(
      'after',
      `
Read-only tools: search_sessions, list_sessions, get_session_overview, get_messages, search_content, get_usage_summary.
A server has the same at /mcp, with the API key as a bearer token.

Examples:
  $ claude mcp add recount -- npx -y recount mcp
  $ claude mcp add --transport http recount https://recount.example.com/mcp --header "Authorization: Bearer rk_…"`,
    )
    .action((options: ApiOptions & { workspace: string }) => serve(context, options));
}

async function serve(context: CliContext, options: ApiOptions & { workspace: string }): Promise<void> {
  const [{ createMcpServer }, { StdioServerTransport }, { withReadingClient }] = await Promise.all([
    import('@recount/api/mcp'),
    import('@modelcontextprotocol/sdk/server/stdio.js'),
    import('../connection/reading-client.ts'),
  ]);
  const signal = context.listenForInterruption();
  await withReadingClient(context, options, async (client) => {
    const server = createMcpServer((path, query) => client.request(path, { query }));
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    context.stdin.once('end', resolve).once('close', resolve);
    signal.addEventListener('abort', () => resolve());
    await server.connect(new StdioServerTransport(context.stdin, process.stdout));
    await closed;
    await server.close();
  });
}
