export { decompress } from './decompress.ts';
export { type InputMeasure, measureInput } from './measure-input.ts';
export { type ReadSourcesOptions, readSources } from './read-sources.ts';
export { SourceError, type SourceErrorCode } from './source-error.ts';
export type { FailedSource, SkippedSource, SkipReason, SourceItem, TranscriptSource } from './source-item.ts';
export type { SourceLimits } from './source-limits.ts';
