import type { Locator, Page } from 'playwright-core';

/** Drops files on an element, as if dragged from a desktop. */
export async function dropFiles(
  page: Page,
  place: Locator,
  files: readonly { name: string; bytes: string | Uint8Array }[],
): Promise<void> {
  // Only strings can be passed to a page.
  const encoded = files.map(({ name, bytes }) => ({ name, base64: Buffer.from(bytes).toString('base64') }));
  const dataTransfer = await page.evaluateHandle(
    `(() => {
      const transfer = new DataTransfer();
      for (const { name, base64 } of ${JSON.stringify(encoded)})
        transfer.items.add(new File([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))], name));
      return transfer;
    })()`,
  );
  await place.dispatchEvent('dragover', { dataTransfer });
  await place.dispatchEvent('drop', { dataTransfer });
}
