import type { JsonValue } from '../../lines/json.ts';
import { isJsonObject, readText } from '../../records/fields.ts';

/** A user's own models, which are few. */
const MAX_CUSTOM_MODELS = 200;
const MAX_NAME_CHARACTERS = 512;
const PREFIX = /^custom:/i;

/** The models behind the names of a user's own ones. */
export interface CustomModels {
  count: number;
  byName: Record<string, string>;
}

export const createCustomModels = (): CustomModels => ({ count: 0, byName: {} });

/**
 * Takes in an entry of the list `customModels`. Its `id`, or else its display name and its position, make up the name
 * (https://docs.factory.ai/model-independence/byok).
 */
export function addCustomModel(models: CustomModels, entry: JsonValue | undefined): void {
  if (models.count === MAX_CUSTOM_MODELS) return;
  const index = models.count++;
  if (!isJsonObject(entry)) return;
  const model = readText(entry.model)?.slice(0, MAX_NAME_CHARACTERS);
  if (model === undefined) return;
  const shown = readText(entry.displayName) ?? model;
  for (const name of [readText(entry.id), `custom:${shown.replaceAll(' ', '-')}-${index}`]) {
    if (name !== null) models.byName[name.slice(0, MAX_NAME_CHARACTERS)] ??= model;
  }
}

/**
 * The model that a name such as `custom:Claude-Opus-4.5-[Anthropic]-0` stands for. It is the one that the file's own
 * list says, or else the name without what Droid adds to it. Display names have capital letters and end with their
 * position; a name without capitals is the model's own, whose last number is its version. Efforts (`(high)`) and hosts
 * (`[Anthropic]`) are no part of a model.
 */
export function toRealModel(name: string | null, models?: CustomModels): string | null {
  if (name === null || !PREFIX.test(name)) return name;
  const { byName = {} } = models ?? {};
  const known = Object.hasOwn(byName, name) ? byName[name] : undefined;
  if (known !== undefined) return known;
  const own = name.replace(PREFIX, '').replace(/\s*\([^()]*\)/g, '');
  if (!/[A-Z[]/.test(own)) return own === '' ? name : own;
  const shown = own
    .replace(/-\d+$/, '')
    .replace(/-?\[[^\]]*\]/g, '')
    .toLowerCase();
  // Thinking is a setting of Claude models.
  const model = shown.startsWith('claude-') ? shown.replace(/-thinking$/, '') : shown;
  return model === '' ? name : model;
}
