import { Command } from 'commander';
import type { ApiClient } from '../connection/api-client.ts';
import { addPlaceOptions, type PlaceOptions } from '../connection/place-options.ts';
import { findNamed, withClient } from '../connection/with-client.ts';
import { type CliContext, note } from '../terminal/cli-context.ts';
import { confirm } from '../terminal/confirm.ts';
import { toSingleLine } from '../terminal/text-width.ts';

/** Things of a workspace that people name, such as budgets: how to call, list and address them. */
export interface NamedItems<Item extends { id: string; name: string }> {
  noun: string;
  /** Parts that are removed with an item, as in “with its history”. */
  parts?: string;
  /** The path of all of them in the API. */
  path: string;
  /** Throws CliError. */
  list(client: ApiClient): Promise<readonly Item[]>;
}

/** Adds the default command, which shows all items. */
export function addListCommand(
  parent: Command,
  description: string,
  show: (options: PlaceOptions) => Promise<void>,
): void {
  const list = addPlaceOptions(new Command('list')).description(description).option('--json', 'print JSON');
  parent.addCommand(list.action(show), { isDefault: true });
}

/** A command whose argument is the name of an item that `list` shows. */
export function addNamedCommand(parent: Command, name: string): Command {
  return addPlaceOptions(parent.command(name)).argument('<name>', `as \`recount ${parent.name()} list\` shows it`);
}

/** Adds the command that removes an item after a question. */
export function addRemoveCommand<Item extends { id: string; name: string }>(
  parent: Command,
  context: CliContext,
  { noun, parts, path, list }: NamedItems<Item>,
): void {
  const what = parts === undefined ? '' : ` with its ${parts}`;
  addNamedCommand(parent, 'remove')
    .description(`Remove a ${noun}${what}`)
    .option('-y, --yes', 'do not ask')
    .action((name: string, options: PlaceOptions & { yes?: boolean }) =>
      withClient(context, options, async (client) => {
        const item = findNamed(await list(client), noun, name);
        const question = `Remove the ${noun} ${toSingleLine(item.name)}${what}?`;
        if (!(await confirm(context, question, options.yes ?? false))) return note(context, 'Nothing was removed.');
        await client.request(`${path}/${item.id}`, { method: 'DELETE' });
        note(context, `The ${noun} ${toSingleLine(item.name)} is removed.`);
      }),
    );
}
