import type { AnnotationChange, SessionAnnotation, SessionDetail } from '@recount/contract';
import { Command } from 'commander';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { withClient } from '../connection/with-client.ts';
import { type CliContext, note, printJson } from '../terminal/cli-context.ts';
import { CliError, UsageError } from '../terminal/cli-error.ts';
import { toSingleLine } from '../terminal/text-width.ts';

interface AnnotateOptions extends PlaceOptions {
  title?: string | false;
  star?: boolean;
  tag?: string[];
  untag?: string[];
  note?: string | false;
}

const collect = (value: string, all: readonly string[] = []): string[] => [...all, value];

export function createAnnotateCommand(context: CliContext): Command {
  return addPlaceOptions(
    new Command('annotate')
      .description('Rename, star, tag or note a session, for everyone in the workspace')
      .argument('<session>', 'id, or the beginning of it, as `recount sessions` prints it')
      .option('--title <text>', 'call it this')
      .option('--no-title', 'call it by the agent’s own title again')
      .option('--star', 'star it')
      .option('--no-star', 'remove the star')
      .option('--tag <name>', 'add a tag; may be repeated', collect)
      .option('--untag <name>', 'remove a tag; may be repeated', collect)
      .option('--note <text>', 'write a note about it')
      .option('--no-note', 'remove the note')
      .option('--json', 'print JSON'),
  )
    .addHelpText(
      'after',
      `
It needs the scope admin. \`recount sessions --starred\` and \`--tag NAME\` list what is marked.

Examples:
  $ recount annotate 0fae0449 --title "Invoice off by one cent" --tag billing
  $ recount annotate 0fae0449 --star --note "Shows how to reproduce it"
  $ recount annotate 0fae0449 --no-star --untag billing`,
    )
    .action((session: string, options: AnnotateOptions) => annotate(context, session, options));
}

async function annotate(context: CliContext, name: string, options: AnnotateOptions): Promise<void> {
  const { readSession } = await import('../show/read-session.ts');
  await withClient(context, options, async (client) => {
    const session = await readSession(client, name);
    const change = toChange(session, options);
    if (Object.keys(change).length === 0) throw new UsageError('Say what to change, for example --star.');
    const path = `/v1/sessions/${encodeURIComponent(session.session_id)}`;
    const changed = await client.request<SessionAnnotation>(path, { method: 'PATCH', json: change });
    if (changed === undefined) throw new CliError('This needs a server. Start one, or name one with --server.');
    if (options.json) return printJson(context, changed);
    const tags = changed.tags.length === 0 ? '' : `, tags: ${changed.tags.map(toSingleLine).join(', ')}`;
    const title = changed.given_title ?? 'its own title';
    note(
      context,
      `${toSingleLine(session.session_id)}: ${toSingleLine(title)}${changed.is_starred ? ', starred' : ''}${tags}`,
    );
  });
}

/** The fields that the options change; tags are added to those that the session has. */
function toChange(
  { tags }: SessionDetail,
  { title, star, tag = [], untag = [], note: text }: AnnotateOptions,
): AnnotationChange {
  return {
    ...(title !== undefined && { given_title: title === false ? null : title }),
    ...(star !== undefined && { is_starred: star }),
    ...(tag.length + untag.length > 0 && {
      tags: [...new Set([...tags, ...tag])].filter((each) => !untag.includes(each)),
    }),
    ...(text !== undefined && { note: text === false ? null : text }),
  };
}
