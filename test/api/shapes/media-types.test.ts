/** The media type of an attachment that came without one, by its name. */
import { expect, test } from 'bun:test';
import { typeOfFile } from '../../../src/api/shapes/media-types.ts';

const TYPES: [type: string, endings: string][] = [
  ['image/avif', 'avif'],
  ['image/bmp', 'bmp'],
  ['application/x-bzip2', 'bz2'],
  ['text/csv', 'csv'],
  ['application/msword', 'doc'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['message/rfc822', 'eml'],
  ['application/epub+zip', 'epub'],
  ['image/gif', 'gif'],
  ['application/gzip', 'gz'],
  ['image/heic', 'heic'],
  ['text/html', 'htm html'],
  ['text/calendar', 'ics'],
  ['image/jpeg', 'jpeg jpg'],
  ['application/json', 'json'],
  ['text/plain', 'log txt'],
  ['audio/mp4', 'm4a'],
  ['text/markdown', 'md'],
  ['video/quicktime', 'mov'],
  ['audio/mpeg', 'mp3'],
  ['video/mp4', 'mp4'],
  ['application/vnd.oasis.opendocument.presentation', 'odp'],
  ['application/vnd.oasis.opendocument.spreadsheet', 'ods'],
  ['application/vnd.oasis.opendocument.text', 'odt'],
  ['audio/ogg', 'ogg'],
  ['application/pkcs7-mime', 'p7m'],
  ['application/pkcs7-signature', 'p7s'],
  ['application/pdf', 'pdf'],
  ['image/png', 'png'],
  ['application/vnd.ms-powerpoint', 'ppt'],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', 'pptx'],
  ['application/rtf', 'rtf'],
  ['image/svg+xml', 'svg'],
  ['application/x-tar', 'tar'],
  ['image/tiff', 'tif tiff'],
  ['text/vcard', 'vcf'],
  ['audio/wav', 'wav'],
  ['video/webm', 'webm'],
  ['image/webp', 'webp'],
  ['application/vnd.ms-excel', 'xls'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['application/xml', 'xml'],
  ['application/yaml', 'yaml yml'],
  ['application/zip', 'zip'],
];

test.each(TYPES)('%s: %s', (type, endings) => {
  for (const ending of endings.split(' ')) {
    expect(typeOfFile(`a.b.${ending}`)).toBe(type);
    expect(typeOfFile(`A.${ending.toUpperCase()}`)).toBe(type);
  }
});

test('any other name is of a file that is offered to be saved', () => {
  const names = [
    'pdf',
    '.',
    'a.',
    'a.exe',
    'a.pdf ',
    'a.pdf.exe',
    'a.constructor',
    'a.toString',
    '',
  ];
  for (const name of names) {
    expect([name, typeOfFile(name)]).toEqual([name, 'application/octet-stream']);
  }
  expect(typeOfFile('.pdf')).toBe('application/pdf');
});
