/**
 * What mail programs make of the features of `html-features.ts`. Written by `scripts/html-support.ts`, not by hand.
 * Promises data only: for each program `yes`, `no`, or `partly` with what is missing.
 *
 * From the data of https://www.caniemail.com (npm package caniemail 2.0.2, github.com/hteumeuleu/caniemail), under the
 * MIT License:
 *
 * Copyright (c) 2019 Rémi Parmentier
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
 * documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
 * rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
 * persons to whom the Software is furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
 * Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
 * WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
 * COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
 * OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */

/** Day of caniemail's data. */
export const SUPPORT_DATE = '2026-05-13';

/** By feature: Gmail, Outlook on Windows, Apple Mail, Yahoo. */
export const SUPPORT: Readonly<
  Record<string, readonly [gmail: string, outlook: string, apple: string, yahoo: string]>
> = {
  'html-style': [
    'partly: Not in the mobile webmail. Not supported inside the <body>. The size of the <style> tag is limited to 16 KB. Not supported with non Google accounts.',
    'partly: <style> elements need to be declared before their rules are used.',
    'yes',
    'yes',
  ],
  'html-audio': ['no', 'no', 'yes', 'no'],
  'html-base': [
    'partly: The element is removed but URLs are turned into links with href attribute.',
    'yes',
    'yes',
    'partly: The element is removed but URLs are turned into links with href attribute. URLs are computed based on the last <base> element found in the <body>. Not supported for local anchor links.',
  ],
  'html-dialog': ['partly: Not in the webmail, iOS, the mobile webmail.', 'no', 'yes', 'no'],
  'html-form': [
    'partly: Does not submit in iOS with non Google accounts.',
    'no',
    'yes',
    'partly: Not in iOS.',
  ],
  'html-marquee': [
    'no',
    'no',
    'yes',
    "partly: The <marquee> element is supported but the animation doesn't play in Internet Explorer or Firefox.",
  ],
  'html-meter': [
    'partly: Not in the webmail, iOS, the mobile webmail. Supported with non Google accounts only.',
    'no',
    'yes',
    'no',
  ],
  'html-object': ['no', 'no', 'partly: Does not support Videos resources.', 'no'],
  'html-picture': [
    'no',
    'no',
    'partly: <picture> tag is stripped in some cases (like having too few content or no background-color).',
    'no',
  ],
  'html-progress': [
    'partly: Not in the webmail, iOS, the mobile webmail. Supported with non Google accounts only.',
    'no',
    'yes',
    'no',
  ],
  'html-select': [
    'partly: Works if the email is shorter than the viewport. Otherwise the screen goes blank when the <select> is in focus.',
    'no',
    'partly: Works if the email is shorter than the viewport. Otherwise the screen goes blank when the <select> is in focus.',
    'partly: Not in iOS.',
  ],
  'html-svg': [
    'no',
    'no',
    'partly: Requires a background on the <body>. Can be any type of background, image or a color, can be set as attribute, inline style or in <style> block.',
    'no',
  ],
  'html-textarea': ['yes', 'no', 'yes', 'partly: Not in Android.'],
  'html-video': [
    'no',
    'no',
    'partly: Requires the controls attribute to play. autoplay is not supported.',
    'no',
  ],
  'html-link': ['no', 'yes', 'yes', 'no'],
  'html-button-submit': [
    'partly: Not supported with non Google accounts.',
    'no',
    'yes',
    'partly: Not in iOS.',
  ],
  'html-input-text': ['yes', 'no', 'yes', 'partly: Not in Android.'],
  'html-image-maps': ['yes', 'yes', 'yes', 'partly: Not in Android.'],
  'html-semantics': [
    'partly: <details>, <main>, <nav> and <summary> are not supported. Opening and closing tags are replaced by <u></u>.',
    'no',
    'yes',
    'no',
  ],
  'html-background': [
    'partly: Not supported with non Google accounts.',
    'partly: Only supported on the <body> element.',
    'yes',
    'yes',
  ],
  'html-srcset': ['no', 'no', 'yes', 'no'],
  'image-base64': ['no', 'partly: Does not render Base 64 gif format.', 'yes', 'yes'],
  'image-avif': [
    'partly: Converts still AVIF into a jpg and animated AVIF into a gif.',
    'no',
    'yes',
    'yes',
  ],
  'image-heif': [
    'partly: Converts file to jpg.',
    'no',
    'yes',
    'partly: Not in Android. Webmail rendering depends on browser support.',
  ],
  'image-svg': [
    'partly: Not in the webmail, the mobile webmail. Only works with non Google accounts.',
    'yes',
    'yes',
    'yes',
  ],
  'image-tiff': [
    'partly: An image renders but the colours are incorrect. Does not render with non Google accounts.',
    'no',
    'yes',
    'partly: Not in the webmail, Android.',
  ],
  'image-webp': ['partly: Converts file to jpg. Does not support animation.', 'no', 'yes', 'yes'],
  'css-at-font-face': [
    'no',
    'partly: The declaration is supported but distant fonts are ignored.',
    'yes',
    'no',
  ],
  'css-at-import': ['no', 'yes', 'yes', 'no'],
  'css-at-keyframes': ['no', 'no', 'yes', 'partly: Not in iOS, Android.'],
  'css-at-media': [
    'partly: Not in the mobile webmail. Does not support height based media queries. Not supported with non Google accounts.',
    'no',
    'yes',
    'partly: Only supports screen, min-width, max-width, min-height and max-height based media queries.',
  ],
  'css-at-supports': ['no', 'no', 'yes', 'yes'],
  'css-at-media-prefers-color-scheme': ['no', 'no', 'yes', 'no'],
  'css-at-media-prefers-reduced-motion': ['no', 'no', 'yes', 'no'],
  'css-align-items': ['no', 'no', 'yes', 'no'],
  'css-animation': ['no', 'no', 'yes', 'no'],
  'css-aspect-ratio': ['no', 'no', 'yes', 'no'],
  'css-backdrop-filter': ['no', 'no', 'yes', 'no'],
  'css-background-blend-mode': [
    'partly: Not in the mobile webmail. Not supported with non Google accounts.',
    'no',
    'yes',
    'no',
  ],
  'css-background-clip': [
    'partly: Not in the mobile webmail. Not supported with non Google accounts. But it can be used in the background shorthand property instead.',
    'no',
    'yes',
    'no',
  ],
  'css-background-image': [
    'yes',
    'no',
    'yes',
    'partly: Does not support multiple values. The comma between two values is removed.',
  ],
  'css-background-position': ['yes', 'no', 'yes', 'yes'],
  'css-background-repeat': ['yes', 'no', 'yes', 'yes'],
  'css-background-size': [
    'partly: Not in the mobile webmail. Not supported with non Google accounts. But it can be used in the background shorthand property instead.',
    'no',
    'yes',
    'yes',
  ],
  'css-border-image': ['no', 'no', 'yes', 'no'],
  'css-border-radius': [
    'yes',
    'no',
    'yes',
    'partly: Shorthand for setting elliptical borders with the slash / notation is not supported e.g. border-radius: 27% 73% 70% 30% / 30% 34% 66% 70%;.',
  ],
  'css-box-shadow': [
    'partly: Not in the webmail, the mobile webmail. Only supported with non Google accounts.',
    'no',
    'yes',
    'no',
  ],
  'css-box-sizing': ['partly: Not in the mobile webmail.', 'no', 'yes', 'no'],
  'css-clip-path': ['no', 'no', 'yes', 'no'],
  'css-color-scheme': ['no', 'no', 'yes', 'no'],
  'css-column-count': ['partly: Not in the mobile webmail.', 'no', 'yes', 'no'],
  'css-filter': ['no', 'no', 'yes', 'no'],
  'css-flex-direction': ['no', 'no', 'yes', 'no'],
  'css-flex-wrap': ['no', 'no', 'yes', 'no'],
  'css-float': [
    'partly: Logical property values inline-start and inline-end are not supported.',
    'no',
    'yes',
    'partly: Logical property values inline-start and inline-end are not supported.',
  ],
  'css-gap': [
    'partly: Not in the mobile webmail. Supports column-gap for flexbox.',
    'no',
    'yes',
    'no',
  ],
  'css-hyphens': ['no', 'no', 'yes', 'no'],
  'css-justify-content': ['no', 'no', 'yes', 'no'],
  'css-list-style-image': ['no', 'no', 'yes', 'no'],
  'css-mask-image': ['no', 'no', 'yes', 'no'],
  'css-max-height': ['yes', 'no', 'yes', 'yes'],
  'css-max-width': ['yes', 'partly: Only works on <table> elements.', 'yes', 'yes'],
  'css-min-height': ['yes', 'no', 'yes', 'yes'],
  'css-min-width': ['yes', 'no', 'yes', 'yes'],
  'css-mix-blend-mode': [
    'partly: Not in the mobile webmail. Not supported with non Google accounts.',
    'no',
    'yes',
    'no',
  ],
  'css-object-fit': [
    'partly: Not in the mobile webmail. Not supported with non Google accounts.',
    'no',
    'yes',
    'no',
  ],
  'css-object-position': [
    'partly: Not in the mobile webmail. Not supported with non Google accounts.',
    'no',
    'yes',
    'no',
  ],
  'css-opacity': ['partly: Not in the mobile webmail.', 'no', 'yes', 'yes'],
  'css-outline': ['yes', 'no', 'yes', 'yes'],
  'css-overflow': [
    'partly: overflow-block & overflow-inline not supported. Cannot scroll through to hidden content.',
    'no',
    'partly: overflow-block & overflow-inline not supported.',
    'partly: overflow-block & overflow-inline not supported. Cannot scroll through to hidden content.',
  ],
  'css-position': [
    'no',
    'no',
    'partly: Supports relative, absolute but not sticky and fixed.',
    'partly: Supports relative but not  absolute, sticky and fixed.',
  ],
  'css-table-layout': ['yes', 'no', 'yes', 'yes'],
  'css-text-overflow': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'no'],
  'css-text-shadow': ['no', 'no', 'yes', 'yes'],
  'css-text-wrap': ['no', 'no', 'yes', 'no'],
  'css-transform': ['no', 'no', 'yes', 'no'],
  'css-transition': [
    'no',
    'no',
    'yes',
    'partly: Longhand properties are not supported. The all keyword is not supported.',
  ],
  'css-user-select': [
    'no',
    'no',
    'partly: Works with -webkit prefix. all value does not work.',
    'no',
  ],
  'css-visibility': ['no', 'no', 'yes', 'yes'],
  'css-white-space': [
    'partly: Not supported with non Google accounts. pre value is not supported.',
    'no',
    'yes',
    'partly: pre value is not supported.',
  ],
  'css-word-break': [
    'partly: Supported but a word-wrap:break-word is applied, making it look like break-all.',
    'yes',
    'partly: Supported but a word-wrap:break-word is applied, making it look like break-all.',
    'no',
  ],
  'css-word-spacing': ['yes', 'no', 'yes', 'partly: Does not support rem and ch values.'],
  'css-writing-mode': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'no'],
  'css-z-index': ['no', 'no', 'yes', 'yes'],
  'css-grid-template': ['no', 'no', 'yes', 'no'],
  'css-margin-inline-block': ['no', 'no', 'partly: Not in iOS.', 'no'],
  'css-padding-inline-block': ['no', 'no', 'partly: Not in iOS.', 'no'],
  'css-display-flex': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'yes'],
  'css-display-grid': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'yes'],
  'css-display-none': [
    'partly: Not in the mobile webmail.',
    'partly: Does not inherit onto nested <table> elements. Does not work when applied directly to an <img> element.',
    'yes',
    'yes',
  ],
  'css-margin': ['no', 'no', 'yes', 'no'],
  'css-variables': ['no', 'no', 'yes', 'no'],
  'css-unit-calc': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'no'],
  'css-function-clamp': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'no'],
  'css-function-max': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'no'],
  'css-function-min': ['partly: Not supported with non Google accounts.', 'no', 'yes', 'no'],
  'css-function-light-dark': ['no', 'no', 'yes', 'no'],
  'css-linear-gradient': [
    'partly: Does not work inline in the background-image property. (See email-bugs#135).',
    'no',
    'yes',
    'no',
  ],
  'css-radial-gradient': [
    'partly: Does not work inline in the background-image property. (See email-bugs#135).',
    'no',
    'yes',
    'no',
  ],
  'css-conic-gradient': ['no', 'no', 'yes', 'no'],
  'css-rgba': [
    'partly: Whitespace syntax is not supported (rgb(0 128 0 / 1)). whitespace syntax (rgba(0 128 0 / 1)): when used in the style attribute of an element, the whole attribute is stripped. When used inside <style>, the whole <style> block is stripped.',
    'no',
    'yes',
    'partly: Whitespace syntax is not supported (rgb(0 128 0 / 1)).',
  ],
  'css-modern-color': ['no', 'no', 'yes', 'no'],
  'css-unit-ch': ['yes', 'no', 'yes', 'no'],
  'css-unit-rem': ['yes', 'no', 'yes', 'no'],
  'css-unit-vh': ['yes', 'no', 'partly: Value resolves to zero.', 'yes'],
  'css-unit-vmax': ['yes', 'no', 'yes', 'no'],
  'css-unit-vmin': ['yes', 'no', 'yes', 'no'],
  'css-unit-vw': ['yes', 'no', 'yes', 'yes'],
  'css-pseudo-class-active': ['no', 'no', 'no', 'yes'],
  'css-pseudo-class-checked': ['no', 'no', 'yes', 'yes'],
  'css-pseudo-class-first-child': ['no', 'no', 'yes', 'yes'],
  'css-pseudo-class-focus': ['no', 'no', 'no', 'yes'],
  'css-pseudo-class-has': ['no', 'no', 'yes', 'no'],
  'css-pseudo-class-hover': [
    'partly: Not in iOS, the mobile webmail. Not supported with non Google accounts.',
    'no',
    'yes',
    'yes',
  ],
  'css-pseudo-class-last-child': ['no', 'no', 'yes', 'yes'],
  'css-pseudo-class-not': ['no', 'no', 'yes', 'no'],
  'css-pseudo-class-nth-child': ['no', 'no', 'yes', 'no'],
  'css-pseudo-class-target': ['no', 'no', 'no', 'yes'],
  'css-pseudo-element-after': ['no', 'no', 'yes', 'no'],
  'css-pseudo-element-before': ['no', 'no', 'yes', 'no'],
};
