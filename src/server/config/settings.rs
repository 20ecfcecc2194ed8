//! One description of a component's settings, from which both of its shapes are made.
//!
//! A *layer* is what one source said (flags with the environment, or the file): every field may be
//! absent, an unknown key is an error. The *settings* are what holds once the layers are laid over
//! the defaults. Written twice by hand the two would drift apart.

/// Defines the settings of one component, and the layer they are read from.
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        $Settings:ident from $Layer:ident {
            $(
                $(#[doc = $doc:literal])+
                #[arg($($arg:tt)+)]
                $field:ident: $Type:ty = $default:expr,
            )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        pub struct $Settings {
            $( $(#[doc = $doc])+ pub $field: $Type, )+
        }

        impl Default for $Settings {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        #[doc = concat!("What one source says about [`", stringify!($Settings), "`].")]
        #[derive(Debug, Clone, Default, clap::Args, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[group(skip)]
        pub struct $Layer {
            $( $(#[doc = $doc])+ #[arg($($arg)+)] pub $field: Option<$Type>, )+
        }

        impl $Layer {
            /// Keeps what this layer says and takes the rest from the one below.
            #[must_use]
            pub fn or(self, below: Self) -> Self {
                Self { $( $field: self.$field.or(below.$field), )+ }
            }

            /// Lays this layer over the defaults.
            #[must_use]
            pub fn over(self, defaults: $Settings) -> $Settings {
                $Settings { $( $field: self.$field.unwrap_or(defaults.$field), )+ }
            }
        }
    };
}

pub(super) use settings;
