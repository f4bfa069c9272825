//! `verify: ranks 2..=8;` and `verify: layout { 2 x 4, [3, 5] };`

use hcomm_core::shape::{Layout, MAX_RANKS, MAX_UNEQUAL_NODES};
use proc_macro2::Delimiter;

use super::{Parse, Parser};
use crate::ast::Verify;
use crate::errors::TokenSpan;

/// The largest rank count that is verified when the algorithm is compiled; `hcomm check` takes more.
const MOST_RANKS: u32 = 256;
/// The most layouts.
const MOST_LAYOUTS: usize = 64;

impl Parser<'_, '_> {
    /// The value of a `verify` header, and where it stands.
    pub(super) fn verify(&mut self) -> Parse<(Verify, TokenSpan)> {
        let start = self.here();
        let verify = if self.eat_word("ranks").is_some() {
            self.verify_ranks()?
        } else if self.eat_word("layout").is_some() {
            Verify::Layouts(self.group(Delimiter::Brace, "`{` and layouts such as `2 x 4`", Self::layouts)?.0)
        } else {
            return Err(self.expected("`ranks 2..=8` or `layout { 2 x 4 }`"));
        };
        Ok((verify, start.to(self.previous())))
    }

    fn verify_ranks(&mut self) -> Parse<Verify> {
        let start = self.here();
        let what = format!("a rank count from 1 to {MOST_RANKS}");
        let first = self.number(1, MOST_RANKS, &what)?;
        let last = match self.punctuation() {
            Some("..=") => {
                self.eat("..=");
                self.number(1, MOST_RANKS, &what)?
            }
            Some("..") => {
                self.eat("..");
                self.number(1, MOST_RANKS + 1, &what)?.saturating_sub(1)
            }
            _ => first,
        };
        if first > last {
            let at = start.to(self.previous());
            return Err(self.errors.push(at, format_args!("no rank count to verify: {first} is more than {last}")));
        }
        Ok(Verify::Ranks(first, last))
    }

    fn layouts(&mut self) -> Parse<Vec<Layout>> {
        let mut layouts = Vec::new();
        while !self.at_end() {
            if layouts.len() >= MOST_LAYOUTS {
                let here = self.here();
                return Err(self.errors.push(here, format_args!("more than {MOST_LAYOUTS} layouts")));
            }
            layouts.push(if self.opens(Delimiter::Bracket) { self.unequal_layout()? } else { self.equal_layout()? });
            if !self.at_end() && self.eat(",").is_none() {
                return Err(self.expected("`,` or `}`"));
            }
        }
        if layouts.is_empty() {
            return Err(self.expected("a layout such as `2 x 4`"));
        }
        Ok(layouts)
    }

    /// `[3, 5]`
    fn unequal_layout(&mut self) -> Parse<Layout> {
        let start = self.here();
        let (locals, span) = self.group(Delimiter::Bracket, "`[`", |inside| {
            let mut locals = Vec::new();
            while !inside.at_end() {
                locals.push(inside.number(1, MAX_RANKS, "the ranks of a node")?);
                if !inside.at_end() && inside.eat(",").is_none() {
                    return Err(inside.expected("`,` or `]`"));
                }
            }
            Ok(locals)
        })?;
        Layout::unequal(&locals).ok_or_else(|| {
            let message =
                format!("a layout of unequal nodes has 1 to {MAX_UNEQUAL_NODES} nodes and at most {MAX_RANKS} ranks");
            self.errors.push(start.to(span.close().into()), message)
        })
    }

    /// `8`, `2 x 4` or `2 x 2 x 4`. Rust's lexer reads `2x4` as one literal with a suffix, `2 x4` as two tokens.
    fn equal_layout(&mut self) -> Parse<Layout> {
        let start = self.here();
        let mut text = String::new();
        while !self.at_end() && self.punctuation().is_none() {
            let Some((token, rest)) = self.cursor.token_tree() else { break };
            if matches!(token, proc_macro2::TokenTree::Group(_)) || text.len() > 64 {
                break;
            }
            let token = token.to_string();
            // `3 3` is not 33.
            if text.ends_with(|c: char| c.is_ascii_digit()) && token.starts_with(|c: char| c.is_ascii_digit()) {
                text.push(' ');
            }
            text.push_str(&token);
            self.cursor = rest;
        }
        let sizes: Option<Vec<u32>> = text.split('x').map(|size| size.parse().ok()).collect();
        let layout = match sizes.as_deref() {
            Some([locals]) => Layout::equal(1, 1, *locals),
            Some([nodes, locals]) => Layout::equal(1, *nodes, *locals),
            Some([pods, nodes, locals]) => Layout::equal(*pods, *nodes, *locals),
            _ => {
                if text.is_empty() {
                    return Err(self.expected("a layout"));
                }
                let help = "layouts are `8`, `2 x 4` (nodes x ranks of each), `2 x 2 x 4` (pods first) or `[3, 5]`";
                return Err(self.errors.push_help(start.to(self.previous()), "not a layout", help));
            }
        };
        layout.ok_or_else(|| {
            let message = format!("a layout has 1 to {MAX_RANKS} ranks, and no size is 0");
            self.errors.push(start.to(self.previous()), message)
        })
    }
}
