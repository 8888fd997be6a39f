import { describeToolInput, type ShownMessage, type ToolStep, toVisible } from '@recount/contract/conversation';
import { lazy, type ReactNode, Suspense } from 'react';
import { formatDuration } from '../format/values.ts';
import { Icon } from '../ui/icon.tsx';
import { Fold } from './fold.tsx';
import { readPatch } from './read-patch.ts';

/** Loaded when a call is open. */
const ToolBody = lazy(async () => ({ default: (await import('./tool-body.tsx')).ToolBody }));

/** Milliseconds since 1970; NaN if the time is unknown. */
const toMs = (iso: string | null | undefined): number => (iso == null ? Number.NaN : Date.parse(iso));

/** A tool call with its result, as one line, which expands to both in suitable formats. */
export function ToolCall({
  step,
  timestamp,
  isRunning = false,
}: {
  step: ToolStep<ShownMessage>;
  timestamp: string | null;
  /** Its result may still come. */
  isRunning?: boolean;
}): ReactNode {
  const { use, result, resultMessage } = step;
  const kind = use.tool_kind ?? 'other';
  const isError = result?.is_error === true;
  const tookMs = toMs(resultMessage?.timestamp) - toMs(timestamp);
  const patched = readPatch(use);
  const subject = patched.length > 0 ? patched.map(({ path }) => path).join(', ') : describeToolInput(use.tool_input);
  const summary = (
    <>
      <Icon name={`tool-${kind}`} />
      <span className="tool-name">{toVisible(use.tool_name ?? use.block_type)}</span>
      <span className={`tool-subject clip ${kind === 'shell' ? 'mono' : ''}`}>{toVisible(subject.slice(0, 400))}</span>
      {isError && <span className="tag error">failed</span>}
      {result === undefined && !isRunning && <span className="tag warn">no result</span>}
      {result === undefined && isRunning && <span className="tag">no result yet</span>}
      {tookMs >= 0 && <span className="tool-time muted">{formatDuration(tookMs)}</span>}
    </>
  );
  const isOpenAtFirst = patched.length > 0 || kind === 'edit' || kind === 'plan' || kind === 'question';
  return (
    <Fold
      name={use.id}
      className={`tool tool-${kind} ${isError ? 'tool-failed' : ''}`}
      summary={summary}
      isOpenAtFirst={isOpenAtFirst}
    >
      {() => (
        <Suspense>
          <ToolBody step={step} />
        </Suspense>
      )}
    </Fold>
  );
}
