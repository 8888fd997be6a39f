import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Attachment, AttachmentList, Session, SessionDetail, Transcript } from '@recount/contract';
import { Command } from 'commander';
import type { ApiClient, ApiPlace } from '../connection/api-client.ts';
import type { ApiOptions } from '../connection/find-api.ts';
import { listPages } from '../connection/list-pages.ts';
import { listDescendants, listSessions } from '../sessions/read-sessions.ts';
import { type CliContext, note, print } from '../terminal/cli-context.ts';
import { CliError } from '../terminal/cli-error.ts';
import { formatCount, formatCountOf } from '../terminal/format-values.ts';

interface RestoreOptions extends ApiOptions {
  to?: string;
  project?: string;
  force?: boolean;
}

const PAGE_LIMIT = 100;

export function createRestoreCommand(context: CliContext): Command {
  return new Command('restore')
    .description('Write a session’s bytes back to where its agent can resume it, here or on another machine')
    .argument('<session>', 'session id')
    .option('--project <folder>', 'resume in this folder (Claude Code finds sessions by their folder)')
    .option('--to <folder>', 'write below this folder instead of the agent’s own')
    .option('--force', 'also overwrite a file with other bytes')
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, the local installation, or the connected server')
    .option('--key <key>', 'API key with the scope read; better in RECOUNT_API_KEY')
    .addHelpText(
      'after',
      `
The session's sub-agents are written, too, the sub-agents of these, and the files that its agent keeps with transcripts,
such as large results. An existing file with other bytes is not overwritten.

Examples:
  $ recount restore 0b7f6c1e-… && claude --resume 0b7f6c1e-…
  $ recount restore 0b7f6c1e-… --project ~/code/app
  $ recount restore 0b7f6c1e-… --to /tmp/restored`,
    )
    .action((sessionId: string, options: RestoreOptions) => restore(context, sessionId, options));
}

export function createPullCommand(context: CliContext): Command {
  return new Command('pull')
    .description(
      'Write all sessions of a project back to where their agents can resume them, here or on another machine',
    )
    .argument('[project]', 'working directory of the sessions, or a part of its path; default: the one here')
    .option('--project <folder>', 'resume in this folder (Claude Code finds sessions by their folder)')
    .option('--to <folder>', 'write below this folder instead of the agents’ own')
    .option('--force', 'also overwrite files with other bytes')
    .option('--server <url>', 'API to ask; default RECOUNT_SERVER, the local installation, or the connected server')
    .option('--key <key>', 'API key with the scope read; better in RECOUNT_API_KEY')
    .addHelpText(
      'after',
      `
Existing files with other bytes are not overwritten; it then exits with 1.

Examples:
  $ cd ~/code/app && recount pull
  $ recount pull /home/ada/old-laptop/app --project ~/code/app`,
    )
    .action((project: string | undefined, options: RestoreOptions) => pull(context, project, options));
}

async function connectToApi(context: CliContext, options: RestoreOptions) {
  const [{ findApi, NO_API_MESSAGE }, { createApiClient }] = await Promise.all([
    import('../connection/find-api.ts'),
    import('../connection/api-client.ts'),
  ]);
  const place = await findApi(context, options);
  if (place === undefined) throw new CliError(NO_API_MESSAGE);
  return { place, client: createApiClient(place) };
}

async function restore(context: CliContext, id: string, options: RestoreOptions): Promise<void> {
  const { place, client } = await connectToApi(context, options);
  const session = await client.request<SessionDetail>(`/v1/sessions/${encodeURIComponent(id)}`);
  if (session === undefined) throw new CliError(`There is no session ${id}.`);
  const sessions: Pick<Session, 'session_id' | 'primary_transcript_id'>[] = [session];
  for await (const subagent of listDescendants(client, [session])) sessions.push(subagent);
  let failed = 0;
  for (const each of sessions) failed += await restoreSession(context, { place, client }, each, options);
  if (failed > 0) throw new CliError(`${formatCountOf(failed, 'file')} of the session not restored.`);
  const { AGENTS } = await import('@recount/core');
  const program = AGENTS.find((agent) => agent.id === session.agent)?.label ?? session.agent;
  note(
    context,
    `${program} can resume ${session.session_id} in ${options.project ?? session.project ?? 'its folder'}.`,
  );
}

async function pull(context: CliContext, given: string | undefined, options: RestoreOptions): Promise<void> {
  const { place, client } = await connectToApi(context, options);
  const project = given ?? context.workingDirectory;
  let failed = 0;
  const sessions: Session[] = [];
  for await (const session of listSessions(client, '/v1/sessions', { project })) sessions.push(session);
  for await (const subagent of listDescendants(client, sessions)) sessions.push(subagent);
  for (const session of sessions) {
    try {
      if ((await restoreSession(context, { place, client }, session, options)) > 0) failed += 1;
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      failed += 1;
      note(context, `recount: ${error.message}`);
    }
  }
  const count = sessions.length;
  if (count === 0) throw new CliError(`There are no sessions of ${project}.`);
  note(context, `Here: ${formatCount(count - failed)} of ${formatCountOf(count, 'session')}.`);
  if (failed > 0) context.exitCode = 1;
}

/**
 * The transcript of the session, with its attachments. A file that cannot be restored is named, and the others are;
 * returns how many could not be.
 */
async function restoreSession(
  context: CliContext,
  { place, client }: { place: ApiPlace; client: ApiClient },
  { primary_transcript_id }: Pick<Session, 'primary_transcript_id'>,
  options: RestoreOptions,
): Promise<number> {
  const [{ toMachine }, { NotRestoredError, toRestoredPath }] = await Promise.all([
    import('../collector/this-machine.ts'),
    import('../restore/restored-path.ts'),
  ]);
  let failed = 0;
  const attempt = async (write: () => Promise<unknown>): Promise<void> => {
    try {
      await write();
    } catch (error) {
      if (!(error instanceof NotRestoredError)) throw error;
      failed += 1;
      note(context, `recount: ${error.message}`);
    }
  };
  const force = options.force ?? false;
  const transcript = await client.request<Transcript>(`/v1/transcripts/${primary_transcript_id}`);
  if (transcript === undefined)
    throw new CliError(`The transcript ${primary_transcript_id} was deleted before it could be read.`);
  await attempt(async () => {
    const path = toRestoredPath(toMachine(context), transcript, {
      project: options.project && resolve(context.workingDirectory, options.project),
      folder: options.to && resolve(context.workingDirectory, options.to),
    });
    await attempt(() => writeTranscript(context, place, transcript, path, force));
    for (const file of await findAttachments(client, { transcript, path }, force))
      await attempt(() => writeBytes(context, place, file.path, file));
  });
  return failed;
}

/** If several uploaders uploaded different states of a file, the one from the transcript's uploader, else the first. */
async function findAttachments(
  client: ApiClient,
  { transcript, path: transcriptPath }: { transcript: Transcript; path: string },
  force: boolean,
): Promise<(WrittenFile & { path: string })[]> {
  const { toRestoredAttachmentPath } = await import('../restore/restored-path.ts');
  const attachments = await listAttachments(client, transcript.session_id);
  const isPreferred = ({ uploader_key_id }: Attachment): boolean => uploader_key_id === transcript.uploader_key_id;
  return [...Map.groupBy(attachments, ({ path }) => path).values()].flatMap((states) => {
    const attachment = states.find(isPreferred) ?? states[0];
    const path = attachment && toRestoredAttachmentPath(transcriptPath, attachment);
    if (attachment === undefined || path === undefined) return [];
    const { id, session_id: sessionId, sha256, stored_sha256, modified_at } = attachment;
    const source = `/v1/sessions/${encodeURIComponent(sessionId)}/attachments/${id}`;
    return [{ path, source, expected: stored_sha256 ?? sha256, modifiedAt: modified_at, force }];
  });
}

async function listAttachments(client: ApiClient, sessionId: string): Promise<Attachment[]> {
  const attachments: Attachment[] = [];
  const path = `/v1/sessions/${encodeURIComponent(sessionId)}/attachments`;
  const pages = listPages((cursor) => client.request<AttachmentList>(path, { query: { limit: PAGE_LIMIT, cursor } }));
  for await (const page of pages) attachments.push(...page.attachments);
  return attachments;
}

async function writeTranscript(
  context: CliContext,
  place: ApiPlace,
  transcript: Transcript,
  path: string,
  force: boolean,
): Promise<void> {
  const isWritten = await writeBytes(context, place, path, {
    source: `/v1/transcripts/${transcript.id}/raw`,
    expected: transcript.stored_sha256 ?? transcript.sha256,
    modifiedAt: transcript.last_timestamp ?? transcript.created_at,
    force,
  });
  if (isWritten && transcript.stored_sha256 !== null)
    note(context, 'Secrets were removed from it before it was stored.');
}

interface WrittenFile {
  /** Path of the API that returns the bytes. */
  source: string;
  /** Their SHA-256 (hex). */
  expected: string;
  modifiedAt: string;
  /** True to overwrite a file with different bytes. */
  force: boolean;
}

/**
 * Returns false if the file existed with these bytes. Throws NotRestoredError if it has different ones, if different
 * ones were received, or if it cannot be written.
 */
async function writeBytes(context: CliContext, place: ApiPlace, path: string, file: WrittenFile): Promise<boolean> {
  const { NotRestoredError } = await import('../restore/restored-path.ts');
  try {
    return await writeFileOnce(context, place, path, file);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined || code === undefined || !WRITE_ERRORS.has(code)) throw error;
    const reason = WRITE_ERRORS.get(code) ?? code;
    throw new NotRestoredError(`${path} cannot be written: ${reason}.`, { cause: error });
  }
}

/** Errors of one file, whose cause is its path. */
const WRITE_ERRORS: ReadonlyMap<string, string> = new Map([
  ['ENAMETOOLONG', 'it has a name that is longer than this file system allows'],
  ['EACCES', 'no permission'],
  ['EPERM', 'no permission'],
  ['EISDIR', 'there is a folder in its place'],
  ['ENOTDIR', 'there is a file in place of its folder'],
  ['EEXIST', 'there is a file in place of its folder'],
  ['EILSEQ', 'this file system does not allow its name'],
  ['EINVAL', 'this file system does not allow its name'],
]);

async function writeFileOnce(
  context: CliContext,
  place: ApiPlace,
  path: string,
  { source, expected, modifiedAt, force }: WrittenFile,
): Promise<boolean> {
  const { NotRestoredError } = await import('../restore/restored-path.ts');
  if (!force && (await stat(path).catch(() => undefined)) !== undefined) {
    if ((await hashFile(path)) === expected) {
      note(context, `${path} is there already.`);
      return false;
    }
    throw new NotRestoredError(
      `${path} exists with other bytes. Pass --force to overwrite it, or --to for another place.`,
    );
  }
  const { download } = await import('../connection/download.ts');
  await mkdir(dirname(path), { recursive: true });
  // Not the file's name with an ending, which may be too long.
  const unfinished = join(dirname(path), `.recount-${createHash('sha256').update(path).digest('hex')}.unfinished`);
  // Found before the download, such as a name that is too long.
  await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
  const response = await download(place, source, {});
  const hash = createHash('sha256');
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  try {
    await pipeline(response, hashing, createWriteStream(unfinished, { mode: 0o600 }));
    if (hash.digest('hex') !== expected)
      throw new NotRestoredError(`The bytes for ${path} differ from the stored ones. Run recount doctor.`);
    const time = new Date(modifiedAt);
    await utimes(unfinished, time, time);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
  print(context, path);
  return true;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
