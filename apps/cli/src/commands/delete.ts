import type { Session, SessionList } from '@recount/contract';
import { Command } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import type { ApiOptions } from '../connection/find-api.ts';
import { addPlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { toProject } from '../report/report-query.ts';
import { listDescendants, listSessions } from '../sessions/read-sessions.ts';
import { type CliContext, note, print, START_COMMAND } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { formatCount, formatCountOf, formatTimestamp, formatUsd } from '../terminal/format-values.ts';
import { toPrintWidth } from '../terminal/print-width.ts';
import { cutToWidth, toSingleLine } from '../terminal/text-width.ts';

interface DeleteOptions extends ApiOptions {
  workspace: string;
  project?: string;
  yes?: boolean;
}

const NO_SERVER = `Deleting needs a server, which has the raw bytes. Start one with \`${START_COMMAND}\`, or name one with --server.`;
const SHOWN = 20;

export function createDeleteCommand(context: CliContext): Command {
  return addPlaceOptions(
    new Command('delete')
      .description('Delete sessions permanently, with their rows, their transcripts and the raw bytes')
      .argument('[session...]', 'ids, or their beginnings, as `recount sessions` prints them')
      .option('--project <path>', 'all sessions of this project')
      .option('--yes', 'delete without asking'),
  )
    .addHelpText(
      'after',
      `
Their sub-agents are deleted with them, and the sub-agents of these. The agent’s own files stay on its machine: hooks
and \`recount backfill\` would upload them again. Needs the scope admin.

Examples:
  $ recount delete 0fae0449
  $ recount delete --project billing-service`,
    )
    .action((sessions: string[], options: DeleteOptions) => deleteSessions(context, sessions, options));
}

async function deleteSessions(context: CliContext, names: string[], options: DeleteOptions): Promise<void> {
  if ((names.length === 0) === (options.project === undefined)) throw new UsageError('Pass session ids or --project.');
  const { confirm } = await import('../terminal/confirm.ts');
  await withClient(context, options, async (client) => {
    const sessions =
      options.project === undefined
        ? await findSessions(client, names)
        : await findProject(client, toProject(options.project, context.workingDirectory));
    for await (const subagent of listDescendants(client, sessions)) sessions.push(subagent);
    if (sessions.length === 0) return note(context, 'There is nothing to delete.');
    const unique = [...new Map(sessions.map((session) => [session.session_id, session])).values()];
    for (const line of describe(unique, toPrintWidth(context))) print(context, line);
    if (!(await confirm(context, 'Delete this permanently?', options.yes ?? false)))
      return note(context, 'Nothing is deleted.');
    // The given ones last, so that the same command finds the rest if one fails.
    for (const { session_id: id } of unique.toReversed()) {
      const answer = await client.request(`/v1/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
      if (answer === undefined) throw new CliError(NO_SERVER);
    }
    note(context, `${formatCountOf(unique.length, 'session')} deleted.`);
  });
}

async function findSessions(client: ApiClient, names: readonly string[]): Promise<Session[]> {
  const { readSession } = await import('../show/read-session.ts');
  const found: Session[] = [];
  for (const name of names) found.push(await readSession(client, name));
  return found;
}

/** The sessions of one project. Throws UsageError if the name means several, as nothing restores what is deleted. */
async function findProject(client: ApiClient, project: string): Promise<Session[]> {
  const page = await client.request<SessionList>('/v1/sessions', { query: { project, limit: 1 } });
  const meant = page?.filters.project ?? [];
  if (meant.length > 1) {
    throw new UsageError(
      `${project} matches several projects: ${meant.slice(0, SHOWN).join(', ')}${meant.length > SHOWN ? ', …' : ''}. Use more of the name.`,
    );
  }
  const found: Session[] = [];
  for await (const session of listSessions(client, '/v1/sessions', { project: meant[0] ?? project }))
    found.push(session);
  return found;
}

function describe(sessions: readonly Session[], maxWidth: number): string[] {
  const sum = (noun: string, toNumber: (session: Session) => number): string =>
    formatCountOf(
      sessions.reduce((total, each) => total + toNumber(each), 0),
      noun,
    );
  const costs = sessions.flatMap(({ cost_estimate_usd: cost }) => cost ?? []);
  const cost = costs.length === 0 ? null : costs.reduce((total, each) => total + each, 0);
  const lines = sessions.slice(0, SHOWN).map((session) => {
    const title = toSingleLine(session.title).slice(0, 50);
    const line = `${toSingleLine(session.session_id)}  ${formatTimestamp(session.last_timestamp, false)}  ${title}`;
    return cutToWidth(line, maxWidth);
  });
  const more = sessions.length > SHOWN ? [`… and ${formatCount(sessions.length - SHOWN)} more`] : [];
  const messages = sum('message', ({ total_messages }) => total_messages);
  const transcripts = sum('transcript', ({ transcript_count }) => transcript_count);
  const total = `${formatCountOf(sessions.length, 'session')} with ${messages}, ${transcripts} and ${cost === null ? 'no known cost' : `${formatUsd(cost)} of cost`}`;
  return [...lines, ...more, total];
}
