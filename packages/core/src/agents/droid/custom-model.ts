import { isJsonObject, readText } from '../../records/fields.ts';
import type { JsonValue } from '../../rows.ts';

/** A user's own models, of which nobody has many. */
const MAX_CUSTOM_MODELS = 200;
const PREFIX = /^custom:/i;

/**
 * The models behind the names of a `customModels` list: `id`, the display name and the position make up the name
 * (https://docs.factory.ai/model-independence/byok).
 */
export function readCustomModels(list: JsonValue | undefined): Record<string, string> {
  const models: Record<string, string> = {};
  if (!Array.isArray(list)) return models;
  for (const [index, entry] of list.slice(0, MAX_CUSTOM_MODELS).entries()) {
    if (!isJsonObject(entry)) continue;
    const model = readText(entry.model);
    if (model === null) continue;
    const shown = readText(entry.displayName) ?? model;
    for (const name of [readText(entry.id), `custom:${shown.replaceAll(' ', '-')}-${index}`, `custom:${model}`]) {
      if (name !== null) models[name.slice(0, 512)] ??= model;
    }
  }
  return models;
}

/**
 * The model that a name such as `custom:Claude-Opus-4.5-[Anthropic]-0` stands for: the one that the file's own list says,
 * or else the name without what Droid adds to it. Display names have capital letters and end with their position; a
 * name without capitals is the model's own, whose last number is its version. Efforts (`(high)`) and hosts
 * (`[Anthropic]`) are no part of a model.
 */
export function toRealModel(name: string | null, models: Readonly<Record<string, string>> = {}): string | null {
  if (name === null || !PREFIX.test(name)) return name;
  const known = Object.hasOwn(models, name) ? models[name] : undefined;
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
