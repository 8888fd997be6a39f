import type { LiveList, LiveStream } from '@recount/contract';
import { Command } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import type { ApiOptions } from '../connection/find-api.ts';
import { addServerOptions } from '../connection/place-options.ts';
import type { LiveOptions } from '../live/live-options.ts';
import type { FollowedApi } from '../live/watch-session.ts';
import { type CliContext, note, print, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { toShellWord } from '../terminal/shell-word.ts';

interface ListOptions extends ApiOptions {
  all?: boolean;
  json?: boolean;
}

type WatchOptions = Pick<LiveOptions, 'verbose' | 'text' | 'progress' | 'json' | 'server' | 'key'>;

interface FlushOptions extends ApiOptions {
  json?: boolean;
}

export function createLiveCommand(context: CliContext): Command {
  const live = new Command('live').description('List or watch recorded running agents, or send waiting streams');
  addServerOptions(live.command('list', { isDefault: true }).description('List the running agents'))
    .option('-a, --all', 'including ended ones that are still listed')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Those recorded by \`recount run --record\` and \`recount tail --record\`, here or on other machines, from their first
line on. One that
has not named its session yet is listed by the id of its stream.

Examples:
  $ recount live
  $ recount live watch`,
    )
    .action((options: ListOptions) => list(context, options));
  addServerOptions(live.command('watch').description('Follow a running agent, one line per event'))
    .argument('[session]', 'session or stream, or the beginning of its id; default: the running one')
    .option('-v, --verbose', 'tool results, durations and warnings')
    .option('--no-text', "without the agent's texts")
    .option('--progress', 'with thoughts, plans and states')
    .option('--json', 'print the events as JSON, one object per line')
    .addHelpText(
      'after',
      `
Shows what has happened so far, and ends with the agent. Connects again if the server ends the stream, for example because
the workspace has changed what it shows, and says so if the key no longer shows the session. An ended one can be shown as long as its events are kept;
\`recount show\` reads any session.

Examples:
  $ recount live watch
  $ recount live watch 0fae0449 --verbose`,
    )
    .action((session: string | undefined, options: WatchOptions) => watch(context, session, options));
  live
    .command('flush')
    .description('Send what could not be sent during the recording')
    .option(
      '--server <url>',
      'API whose streams to send, in addition to those for the local installation; default RECOUNT_SERVER',
    )
    .option('--key <key>', 'API key; better set RECOUNT_API_KEY, which other users of the machine cannot see')
    .option('--json', 'print one JSON object per stream')
    .addHelpText(
      'after',
      `
Exits with 1 if something still waits or is refused. A server's streams need its --server and key: keys are not stored.

Examples:
  $ recount live flush
  $ RECOUNT_API_KEY=rk_… recount live flush --server https://recount.example.com`,
    )
    .action((options: FlushOptions) => flush(context, options));
  return live;
}

async function flush(context: CliContext, options: FlushOptions): Promise<void> {
  const [{ toDataDirectory }, { findRecordTarget, toTargetName }, { flushSpool }, { formatBytes }] = await Promise.all([
    import('../data-directory/data-directory.ts'),
    import('../live/record-target.ts'),
    import('../live/flush-spool.ts'),
    import('../terminal/format-values.ts'),
  ]);
  const target = await findRecordTarget(context, options);
  let count = 0;
  for await (const stream of flushSpool(toDataDirectory(context).liveSpool, target, context.listenForInterruption())) {
    const { streamId, sizeBytes, note, state, reason } = stream;
    count += 1;
    if (state !== 'sent') context.exitCode = 1;
    const place = note === undefined ? '' : toTargetName(note.target);
    if (options.json) {
      const target = note?.target ?? null;
      print(context, JSON.stringify({ stream_id: streamId, size_bytes: sizeBytes, target, state, reason }));
    } else {
      const why = reason === null ? '' : ` (${reason})`;
      print(context, `${streamId}  ${formatBytes(sizeBytes)}  ${state}  ${place}${why}`);
    }
  }
  if (count === 0 && !options.json) print(context, 'Nothing waits.');
}

async function openApi(context: CliContext, options: ApiOptions): Promise<ApiClient> {
  const [{ createApiClient }, { findApi, NO_API_MESSAGE }] = await Promise.all([
    import('../connection/api-client.ts'),
    import('../connection/find-api.ts'),
  ]);
  const place = await findApi(context, options);
  if (place === undefined) throw new CliError(NO_API_MESSAGE);
  return createApiClient(place);
}

async function listStreams(client: ApiClient, state: 'running' | 'all'): Promise<LiveStream[]> {
  return (await client.request<LiveList>('/v1/live', { query: { state } }))?.streams ?? [];
}

async function list(context: CliContext, options: ListOptions): Promise<void> {
  const streams = await listStreams(await openApi(context, options), options.all ? 'all' : 'running');
  if (options.json) return printJson(context, { streams });
  if (streams.length === 0) {
    return note(
      context,
      `${options.all ? 'No recorded agents' : 'Nothing is running'}. \`recount run --record -- claude -p "…"\` records one.`,
    );
  }
  const { formatLiveStreams } = await import('../live/live-table.ts');
  const { toPrintWidth } = await import('../terminal/print-width.ts');
  for (const line of formatLiveStreams(streams, Date.now(), toPrintWidth(context))) print(context, line);
  const [running] = streams.filter(({ state }) => state === 'open');
  if (running !== undefined)
    note(context, `recount live watch ${toShellWord(running.session_id.slice(0, 8))} follows it.`);
}

async function watch(context: CliContext, given: string | undefined, options: WatchOptions): Promise<void> {
  const client = await openApi(context, options);
  const stream = chooseStream(await listStreams(client, given === undefined ? 'running' : 'all'), given);
  const [{ download }, views, { toLayout }, { createScreen }, { followSession }, agents] = await Promise.all([
    import('../connection/download.ts'),
    import('../live/stream-view.ts'),
    import('../live/live-setup.ts'),
    import('../live/screen.ts'),
    import('../live/watch-session.ts'),
    import('@recount/core/live'),
  ]);
  const signal = context.listenForInterruption();
  const agent = agents.agentOf(stream.agent);
  if (agent === undefined) throw new CliError(`recount shows no streams of ${stream.agent}.`);
  note(context, `Session ${stream.session_id}`);
  const screen = createScreen(context);
  const view = options.json
    ? views.createJsonView(screen)
    : views.createLineView(screen, toLayout(context, agent, options));
  try {
    const api: FollowedApi = {
      open: (id, lastEventId) =>
        download(client.place, `/v1/sessions/${encodeURIComponent(id)}/events`, {
          query: { follow: 'false', last_event_id: lastEventId },
          signal,
        }),
      isRunning: async (id) =>
        (await listStreams(client, 'running')).some(({ session_id, stream_id }) =>
          [session_id, stream_id].includes(id),
        ),
    };
    const onPause = (error: Error | undefined, pauseMs: number): void => {
      const what = error === undefined ? 'The server ended the stream' : `The stream broke off (${error.message})`;
      note(context, `${what}. Connecting again in ${Math.ceil(pauseMs / 1000)} s.`);
    };
    for await (const event of followSession(api, stream.session_id, { signal, onPause })) await view.showEvent(event);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await screen.close();
  }
}

/** The requested stream, by its session, by its own id, by the beginning of either, or the only one. */
function chooseStream(streams: readonly LiveStream[], given: string | undefined): LiveStream {
  const named = streams.filter(
    ({ session_id, stream_id }) => given === undefined || session_id.startsWith(given) || stream_id.startsWith(given),
  );
  const [first] = named;
  const sessions = new Set(named.map(({ session_id }) => session_id));
  if (first !== undefined && sessions.size === 1) return first;
  if (given === undefined && first === undefined)
    throw new UsageError('Nothing is running; `recount live --all` lists what was.');
  if (first === undefined)
    throw new UsageError(`No running or recent agent is called ${given}: see \`recount live --all\`.`);
  throw new UsageError(`Several match: ${[...sessions].slice(0, 5).join(', ')}.`);
}
