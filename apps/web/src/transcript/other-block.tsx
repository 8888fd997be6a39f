import { type ShownBlock, type ShownMessage, type Turn, toVisible } from '@recount/contract/conversation';
import { type ReactNode, useContext } from 'react';
import { useExpanded } from './expansion.ts';
import { Fold, Plain } from './fold.tsx';
import { toLinePlace } from './raw-line.ts';
import { TranscriptContext } from './transcript-context.ts';
import { TranscriptImage } from './transcript-image.tsx';

/** An image, or a block of a kind that has no look yet. */
export function OtherBlock({ block, turn }: { block: ShownBlock; turn: Turn<ShownMessage> }): ReactNode {
  const { transcriptId } = useContext(TranscriptContext);
  const [isOpen, setOpen] = useExpanded(block.id, false);
  const place = toLinePlace(block, transcriptId);
  if (block.block_type !== 'image' || place === undefined) {
    return (
      <Fold name={block.id} className="tool" summary={<span className="tool-name">{toVisible(block.block_type)}</span>}>
        {() => <Plain text={block.content_text ?? JSON.stringify(block.metadata, null, 2)} />}
      </Fold>
    );
  }
  // Images on one line are identified by their order.
  const sameLine = turn.message.content_blocks.filter(
    ({ block_type, byte_offset }) => block_type === 'image' && byte_offset === block.byte_offset,
  );
  return (
    <div className="image-block">
      {!isOpen && (
        <button type="button" data-fold={block.id} onClick={() => setOpen(true)}>
          Show image {typeof block.metadata.media_type === 'string' && `(${toVisible(block.metadata.media_type)})`}
        </button>
      )}
      <TranscriptImage place={place} index={Math.max(0, sameLine.indexOf(block))} isWanted={isOpen} />
    </div>
  );
}
