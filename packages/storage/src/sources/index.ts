export { decompress } from './decompress.ts';
export { measureInput, type ReadSourcesOptions, readSources } from './read-sources.ts';
export { SourceError } from './source-error.ts';
export type { SkipReason, SourceItem, TranscriptSource } from './source-item.ts';
export { classifyName } from './source-name.ts';
